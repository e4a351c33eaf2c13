// The meter of a reading counts what is really taken: whatever a file is used for, the allocator
// hands out no more than was charged. A program of its own, because it takes the place of operator
// new.
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "costly_files.h"
#include "support/matchers.h"
#include "tenon/checkpoint.h"

namespace {

std::atomic<std::int64_t> live = 0, most = 0;

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const std::int64_t now = live += static_cast<std::int64_t>(malloc_usable_size(memory));
  std::int64_t before = most;
  while (now > before && !most.compare_exchange_weak(before, now)) {
  }
  return memory;
}
void let_go(void* memory) noexcept {
  live -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted(std::malloc(size == 0 ? 1 : size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept { let_go(memory); }
void operator delete(void* memory, std::size_t) noexcept { let_go(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { let_go(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { let_go(memory); }

namespace tenon {
namespace {

class MeteredMemory : public testing::TestWithParam<Structure> {};

TEST_P(MeteredMemory, IsNoMoreThanWasCharged) {
  const Structure& structure = GetParam();
  const auto bytes = archive_of(structure, 20'000);
  for (const Use use : kUses) {
    if (!is_possible(structure, use)) continue;
    const std::int64_t before = live;
    most = before;
    std::uint64_t opened = 0, charged = 0;
    try {
      const auto document =
          open_document(open_memory(bytes, "memory"), {structure.inert, false, {}});
      ReadMeter meter = document->meter();
      if (!structure.is_header) opened = meter.held();
      use_file(use, *document, meter);
      charged = meter.peak();
    } catch (const Error&) {
      charged = ReadLimits().memory + ReadLimits().memory_per_byte * bytes.size();
    }
    // Not charged: the bytes of the pickle or header, which are a part of the file; room for the
    // graph of a pickle that was never touched, at most as much as was; what is there at any time,
    // whatever the file is.
    constexpr std::uint64_t kAlways = std::uint64_t{1} << 20;
    EXPECT_LE(static_cast<std::uint64_t>(most - before), charged + opened + bytes.size() + kAlways)
        << structure.name << ", use " << static_cast<int>(use);
  }
}

INSTANTIATE_TEST_SUITE_P(Structures, MeteredMemory, testing::ValuesIn(costly_structures()),
                         [](const testing::TestParamInfo<Structure>& about) {
                           std::string name;
                           for (const char* c = about.param.name; *c != '\0'; ++c)
                             if (std::isalnum(static_cast<unsigned char>(*c)) != 0) name += *c;
                           return name;
                         });

}  // namespace
}  // namespace tenon
