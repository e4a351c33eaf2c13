#include "base/memory_limit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace tenon {
namespace {

TEST(MemoryLimit, TheSmallestOfAGroupAndItsParentsCounts) {
  const TempDir dir;
  const auto write = [&](const std::string& group, const char* text) {
    std::filesystem::create_directories(dir.file(group));
    std::ofstream(dir.file(group + "/memory.max")) << text;
  };
  const std::string root = dir.file(".");
  const auto limit = [&] { return memory_of_group(root, "/a/b", "memory.max"); };
  EXPECT_EQ(limit(), std::nullopt);
  write("a/b", "max\n");
  EXPECT_EQ(limit(), std::nullopt);
  write("a", "6000000\n");
  EXPECT_EQ(limit(), 6000000u);
  write(".", "3000000\n");  // where a container's limit is
  EXPECT_EQ(limit(), 3000000u);
  write("a/b", "1000000\n");
  EXPECT_EQ(limit(), 1000000u);
  EXPECT_EQ(memory_of_group(root, "/", "memory.max"), 3000000u);
  EXPECT_EQ(memory_of_group(root, "", "memory.max"), std::nullopt);
  EXPECT_EQ(memory_of_group(root, "/a/b", "memory.limit_in_bytes"), std::nullopt);
}

TEST(MemoryLimit, IsThereOnThisMachine) {
  const auto memory = usable_memory();
  ASSERT_TRUE(memory.has_value());
  EXPECT_GT(*memory, std::uint64_t{1} << 20);
}

}  // namespace
}  // namespace tenon
