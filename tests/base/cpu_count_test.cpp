#include "base/cpu_count.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <thread>

#include "support/temp_dir.h"

namespace tenon {
namespace {

TEST(CpuCount, AQuotaIsRoundedUpToWholeCpus) {
  EXPECT_EQ(cpus_of_quota("200000 100000"), 2);
  EXPECT_EQ(cpus_of_quota("150000 100000"), 2);
  EXPECT_EQ(cpus_of_quota("10000 100000"), 1);
  EXPECT_EQ(cpus_of_quota("max 100000"), std::nullopt);
}

TEST(CpuCount, TextThatIsNoQuotaLimitsNothing) {
  for (const char* text : {"", "max", "100000", "0 100000", "-1 100000", "100000 0", "abc def",
                           "99999999999999999999 1"}) {
    EXPECT_EQ(cpus_of_quota(text), std::nullopt) << text;
  }
}

TEST(CpuCount, TheSmallestQuotaOfAGroupAndItsParentsCounts) {
  const TempDir dir;
  const auto write = [&](const std::string& group, const char* text) {
    std::filesystem::create_directories(dir.file(group));
    std::ofstream(dir.file(group + "/cpu.max")) << text;
  };
  const std::string root = dir.file(".");
  EXPECT_EQ(cpus_of_group(root, "/a/b"), std::nullopt);
  write("a/b", "max 100000");
  write("a", "600000 100000");
  EXPECT_EQ(cpus_of_group(root, "/a/b"), 6);
  write(".", "300000 100000");  // where a container's limit is
  EXPECT_EQ(cpus_of_group(root, "/a/b"), 3);
  EXPECT_EQ(cpus_of_group(root, "/"), 3);
  EXPECT_EQ(cpus_of_group(root, ""), std::nullopt);
}

TEST(CpuCount, FollowsTheAffinityMask) {
  EXPECT_GE(usable_cpus(), 1);
  int seen = 0;
  std::thread([&] {  // the mask is the thread's
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &all)) {
        CPU_SET(cpu, &one);
        break;
      }
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    seen = usable_cpus();
  })
      .join();
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace tenon
