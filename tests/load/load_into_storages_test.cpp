// What tensors of one storage of the file have in common: its inflation, their bytes, their names.
#include "../io/hand_made.h"
#include "support/matchers.h"
#include "support/threads.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

struct Net final : nn::Module {
  void add(std::string_view name, Shape shape, TensorOptions options = {}) {
    register_parameter(name, nn::make_parameter(zeros(shape, options), false));
  }
};

Checkpoint opened(const std::string& file) {
  return Checkpoint::open(std::as_bytes(std::span(file)), {.limits = ReadLimits().times(4)});
}

// Two that are not kept both, and tensors of the one and the other in turn.
TEST(LoadIntoStorages, DeflatedOnesInTurnAreInflatedOnce) {
  constexpr std::size_t kBytes = std::size_t{40} << 20, kTensors = 400;
  hand_made::Archive archive{.value = "}(", .storages = {}, .deflates = true};
  for (std::size_t i = 0; i < 2; ++i)
    archive.storages.emplace_back(std::to_string(i), std::string(kBytes, static_cast<char>(i + 1)));
  for (std::size_t i = 0; i < kTensors; ++i) {
    const std::string storage = hand_made::storage("ByteStorage", std::to_string(i % 2), kBytes);
    archive.value += hand_made::text("t" + std::to_string(i)) +
                     hand_made::tensor(storage, static_cast<std::int64_t>(i), {2}, {1});
  }
  archive.value += "u";
  const std::string file = archive.bytes();
  const Threads threads(4);
  for (const DType dtype : {uint8, int64}) {
    for (const Device& device : {Device::cpu(), Device::meta()}) {
      Net net;
      for (std::size_t i = 0; i < kTensors; ++i)
        net.add("t" + std::to_string(i), {2}, {.dtype = dtype, .device = device});
      load_into(net, opened(file));
      for (std::size_t i = 0; i < 4; ++i) {
        const Tensor got = net.get_parameter("t" + std::to_string(i));
        EXPECT_TRUE(
            equal(got, full({2}, static_cast<std::int64_t>(i % 2 + 1), {.dtype = got.dtype()})));
      }
    }
  }
}

// One place in the file, and other values there.
TEST(LoadIntoStorages, AConjugateIsNoTwin) {
  const Tensor z = arange(8.0).view({4, 2}).to(float32);
  const Tensor a = view_as_complex(z);
  const auto file = save_to_memory(Value::dict({{"a", a}, {"b", a.conj()}, {"c", a.detach()}}));
  for (const bool assign : {false, true}) {
    Net net;
    for (const char* name : {"a", "b", "c"})
      net.add(name, {4}, {.dtype = complex64, .device = Device::meta()});
    load_into(net, Checkpoint::open(file), {.assign = assign, .dtype = complex128});
    const auto loaded = [&](const char* name) { return net.get_parameter(name); };
    EXPECT_TRUE(equal(loaded("a"), a.to(complex128))) << assign;
    EXPECT_TRUE(equal(loaded("b"), a.conj().to(complex128))) << assign;
    EXPECT_TRUE(equal(loaded("c"), a.to(complex128))) << assign;
  }
}

// It is told of for each of them.
TEST(LoadIntoStorages, OfManyNamesOfATensorTheShortestIsTold) {
  const Tensor one = ones({1});
  std::vector<Value::Entry> entries{{std::string(100'000, 'k'), one}, {"bb", one}, {"a", one}};
  const auto file = save_to_memory(Value::dict(entries));
  Net net;
  for (const char* name : {"a", "bb"}) net.add(name, {1});
  const LoadIntoReport report = load_into(net, Checkpoint::open(file), {.strict = false});
  ASSERT_EQ(report.steps.size(), 2u);
  for (const LoadStep& step : report.steps) EXPECT_EQ(step.name.size(), 1u);
  EXPECT_TRUE(equal(net.get_parameter("bb"), one));
}

}  // namespace
}  // namespace tenon
