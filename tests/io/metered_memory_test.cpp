// The meter of a reading counts what is really taken: whatever a file is used for, the allocator
// hands out no more than was charged. A program of its own, because it takes the place of operator
// new.
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "costly_files.h"
#include "io/formats/document.h"
#include "io/read/tensors.h"
#include "support/matchers.h"
#include "support/program_archive.h"
#include "tenon/checkpoint.h"
#include "tenon/load_into.h"
#include "tenon/nn/parameter.h"

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
  const CostlyFile file(structure, 20'000);
  for (const Use use : kUses) {
    if (!is_possible(structure, use)) continue;
    const std::int64_t before = live;
    most = before;
    std::uint64_t opened = 0, charged = 0;
    try {
      const auto document = file.open({});
      ReadMeter meter = document->meter();
      if (!structure.is_header) opened = meter.held();
      use_file(use, *document, meter);
      charged = meter.peak();
    } catch (const Error&) {
      charged = ReadLimits().memory + ReadLimits().memory_per_byte * file.stored();
    }
    // Not charged: the bytes of the pickle or header, which are a part of the file; room for the
    // graph of a pickle that was never touched, at most as much as was; what is there at any time,
    // whatever the file is.
    constexpr std::uint64_t kAlways = std::uint64_t{1} << 20;
    EXPECT_LE(static_cast<std::uint64_t>(most - before), charged + opened + file.stored() + kAlways)
        << structure.name << ", use " << static_cast<int>(use);
  }
}

// What is noted while a document is built, whoever it is built for.
class Nobody final : public Builder {
 public:
  void storage(std::uint32_t, const StorageRecord&) override {}
  void element_type(std::uint32_t, DType) override {}
  Tensor tensor(const TensorRecord& record) override {
    return tensor_over(record, Storage::without_data(0, Device::meta()), Device::meta());
  }
  Tensor parameter(const Tensor& data, bool) override { return data; }
  Tensor uninitialized(const UninitializedRecord& record) override {
    return uninitialized_on(Device::meta(), record);
  }
};

TEST(MeteredMemory, StoragesAreChargedToWhoeverBuilds) {
  std::size_t found = 0;
  for (const Structure& structure : costly_structures()) {
    if (!std::string_view(structure.name).starts_with("storages")) continue;
    ++found;
    const CostlyFile file(structure, 20'000);
    const auto document = file.open({});
    ReadMeter meter = document->meter();
    const std::uint64_t held = meter.held();
    const std::int64_t before = live;
    most = before;
    Nobody nobody;
    const Value value = document->build(nobody, meter);
    EXPECT_LE(static_cast<std::uint64_t>(most - before), meter.peak() - held) << structure.name;
    EXPECT_LT(meter.held() - held, meter.peak() - held) << structure.name;
  }
  EXPECT_EQ(found, 2u);
}

struct Net final : nn::Module {};

// What loading so large a structure into a module takes that has its tensors, but for those of long
// names and those in others.
std::int64_t memory_of_load_into(const Structure& structure, std::size_t n) {
  const auto bytes =
      program_archive("\x80\x02" + structure.program(n) + ".", {std::string(4, '\0')});
  const Checkpoint file = Checkpoint::open(bytes, {.limits = ReadLimits().times(1000)});
  Net net;
  for (const TensorFacts& facts : file.tensors()) {
    if (facts.name.size() > 64 || facts.name.find('.') != facts.name.npos) continue;
    net.register_parameter(facts.name, nn::make_parameter(empty(facts.shape)));
  }
  const std::int64_t before = live;
  most = before;
  load_into(net, file, {.strict = false, .dtype = bfloat16});
  return most - before;
}

TEST(MeteredMemory, LoadIntoTakesMoreAsTheFileAndTheModuleDo) {
  std::size_t found = 0;
  for (const Structure& structure : costly_structures()) {
    const std::string_view name = structure.name;
    if (name != "the tensors of an ordinary state dict" && !name.starts_with("a long name of"))
      continue;
    ++found;
    memory_of_load_into(structure, 100);  // what is there from the first time on
    const std::int64_t few = memory_of_load_into(structure, 500);
    EXPECT_LT(memory_of_load_into(structure, 4000), 10 * few) << name;
  }
  EXPECT_EQ(found, 2u);
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
