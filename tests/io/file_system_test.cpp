#include "io/write/file_system.h"

#include <sys/mman.h>

#include <functional>
#include <memory>
#include <vector>

#include "io/faulty_file_system.h"
#include "support/matchers.h"

namespace tenon {
namespace {

using testing::ElementsAre;

// Takes all that is written, and nothing after so many calls.
class Sink : public FileSystem {
 public:
  ssize_t pwrite(int, const void*, std::size_t count, off_t offset) override {
    if (counts.size() == most) return 0;
    counts.push_back(count);
    offsets.push_back(offset);
    return static_cast<ssize_t>(count);
  }
  std::size_t most = 100;
  std::vector<std::size_t> counts;
  std::vector<off_t> offsets;
};

TEST(WriteFully, WritesNoMoreThanAGibibyteAtATime) {
  constexpr std::size_t kGiB = std::size_t{1} << 30, kSize = 2 * kGiB + 5;
  void* const nothing =
      ::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(nothing, MAP_FAILED);
  const std::span bytes(static_cast<const std::byte*>(nothing), kSize);
  Sink sink;
  write_fully(sink, -1, bytes, 7, "x");
  EXPECT_THAT(sink.counts, ElementsAre(kGiB, kGiB, 5u));
  EXPECT_THAT(sink.offsets, ElementsAre(7, 7 + (1 << 30), 7 + (std::int64_t{1} << 31)));
  Sink full;
  full.most = 1;
  EXPECT_EQ(io_error([&] { write_fully(full, -1, bytes, 7, "x"); },
                     "x: cannot write at byte 1073741831: No space left"),
            ENOSPC);
  ::munmap(nothing, kSize);
}

}  // namespace
}  // namespace tenon
