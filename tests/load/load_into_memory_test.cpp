// What load_into says it needs is what it takes.
#include "support/host_device.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "support/wrappers.h"
#include "tenon/extend.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

// Keeps a quarter of the bytes it is given.
class Quarter final : public Wrapper<Quarter> {
 public:
  explicit Quarter(Tensor payload)
      : Wrapper(empty(payload.shape(), {.device = Device::meta()})), elem(std::move(payload)) {}
  std::optional<Value> dispatch(const OpCall& call) const override {
    if (call.is<op::copy_>()) {
      elem.copy_(call.tensors()[1]);
      return Value(call.tensors()[0]);
    }
    if (call.is<op::detach>()) return make_tensor<Quarter>(elem.detach());
    return std::nullopt;
  }
  std::optional<Tensor> module_load(const Tensor&, const Tensor& src, bool) const override {
    return make_tensor<Quarter>(src.to(int8));
  }
  std::optional<Flattened> flatten() const override { return Flattened{{{"elem", elem}}, {}}; }
  void for_each_payload(const std::function<void(const Tensor&)>& visit) const override {
    visit(elem);
  }
  Tensor elem;
};

Device slate() {
  static const bool registered = [] {
    register_device("slate", std::make_unique<HostBackend>());
    return true;
  }();
  EXPECT_TRUE(registered);
  return Device("slate:0");
}

// Megabytes, so that pieces are small beside them; 21 in all.
class Net final : public nn::Layer {
 public:
  nn::Child<nn::Conv2d> a{this, "a", 128, 512, 3};
  nn::Child<nn::Conv2d> b{this, "b", 256, 512, 3};
  nn::Child<nn::Linear> c{this, "c", 1024, 3072};

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

struct Case {
  const char* name;
  std::function<void(Net&)> prepare;
  bool on_meta = false;
  LoadIntoOptions options = {};
  bool swap = false, compact = true;
};

void channels_last(Net& net) { net.to({.memory_format = MemoryFormat::channels_last}); }
void quarters(Net& net) {
  for (nn::TensorSlot* slot :
       {static_cast<nn::TensorSlot*>(&net.a->weight), static_cast<nn::TensorSlot*>(&net.b->weight),
        static_cast<nn::TensorSlot*>(&net.c->weight)}) {
    const Tensor own = slot->get();
    static_cast<nn::Parameter&>(*slot) = nn::make_parameter(
        make_tensor<Quarter>(empty(own.shape(), {.dtype = int8, .device = own.device()})), false);
  }
}
void nothing(Net&) {}

std::vector<Case> cases() {
  const auto doubled = [](Net& net) { net.double_(); };
  const auto both = [](Net& net) {
    net.half();
    channels_last(net);
  };
  return {
      {"OnMeta", nothing, true},
      {"Copied", nothing},
      {"CopiedIntoChannelsLast", channels_last},
      {"CopiedIntoChannelsLastOfAnotherDtype", both},
      {"ChannelsLastOnMeta", channels_last, true},
      {"Staged", channels_last, false, {.full_staging = true}},
      {"Assigned", nothing, false, {.assign = true}},
      {"Mapped", nothing, true, {.mmap = true}},
      {"MappedIntoChannelsLast", channels_last, true, {.mmap = true}},
      {"Converted", nothing, true, {.dtype = bfloat16}},
      {"ConvertedIntoChannelsLast", channels_last, true, {.dtype = bfloat16}},
      {"Doubled", doubled},
      {"Handed", quarters},
      {"HandedUnderSwap", quarters, false, {}, true},
      {"HandedOnMetaUnderSwap", quarters, true, {.assign = true}, true},
      {"OfAFileInAnotherOrder", nothing, true, {}, false, false},
      {"OfAFileInAnotherOrderConverted", nothing, true, {.dtype = bfloat16}, false, false},
      {"OnADevice", nothing, true, {.device = slate()}},
      {"ConvertedOnADevice", nothing, true, {.dtype = bfloat16, .device = slate()}},
      {"ChannelsLastOnADevice", channels_last, true, {.device = slate()}},
      {"CopiedOnADevice", [](Net& net) { net.to(slate()); }},
      {"CopiedFromAFileInAnotherOrder", nothing, false, {}, false, false},
  };
}

class LoadIntoMemory : public testing::TestWithParam<std::tuple<const char*, std::size_t>> {};

INSTANTIATE_TEST_SUITE_P(All, LoadIntoMemory,
                         testing::Combine(testing::Values(".pth", ".safetensors"),
                                          testing::Range(std::size_t{0}, cases().size())),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param)).substr(1) +
                                  cases()[std::get<1>(one.param)].name;
                         });

TEST_P(LoadIntoMemory, TakesWhatTheReportSays) {
  const Case one = cases()[std::get<1>(GetParam())];
  const TempDir dir;
  const std::string file = dir.file(std::string("net") + std::get<0>(GetParam()));
  Net source;
  if (!one.compact) channels_last(source);
  save(source.state_dict(), file);
  const auto fresh = [&] {
    auto made = with_device(one.on_meta ? "meta" : "cpu", [] { return nn::make<Net>(); });
    one.prepare(*made);
    return made;
  };
  const nn::SwapOnConversionScope swap(one.swap);

  const LoadIntoReport report = load_into(*fresh(), file, one.options);
  const auto said = static_cast<std::int64_t>(report.peak_bytes);
  // Again into one of its kind, with the budget that was said, and one byte less.
  auto other = fresh();
  LoadIntoOptions options = one.options;
  if (report.peak_bytes > 0) {
    options.memory_budget = report.peak_bytes - 1;
    EXPECT_THROW(load_into(*other, file, options), ValueError);
  }
  options.memory_budget = report.peak_bytes;
  // Pieces are not counted as tensors' memory; not all that is kept need be there at the peak.
  const std::int64_t pieces = std::int64_t{get_num_threads()} * (std::int64_t{4} << 20);
  std::int64_t taken = 0;
  // On a busy machine threads may work one after the other, and then less is there at once.
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (attempt != 0) other = fresh();
    std::int64_t now = 0;
    for (const Device& device : {Device::cpu(), slate()}) {
      reset_peak_memory_stats(device);
      now -= memory_allocated(device);
    }
    load_into(*other, file, options);
    for (const Device& device : {Device::cpu(), slate()}) now += max_memory_allocated(device);
    taken = std::max(taken, now);
    if (said <= taken * 3 / 2 + pieces) break;
  }
  for (const auto& [name, tensor] : source.named_parameters()) {
    const Tensor got = other->get_parameter(name);
    if (got.body().is_wrapper()) continue;
    EXPECT_TRUE(equal(got.detach().cpu(), tensor.detach().to(got.dtype()))) << name;
    EXPECT_EQ(got.device(), one.options.device.value_or(got.device()));
  }
  EXPECT_LE(taken, said);
  EXPECT_LE(said, taken * 3 / 2 + pieces);
}

TEST(LoadIntoDevice, WithoutAnIndexIsTheFirst) {
  const TempDir dir;
  Net net;
  save(net.state_dict(), dir.file("net.pth"));
  net.to(slate());
  const void* memory = net.a->weight->storage().identity();
  const LoadIntoReport report = load_into(net, dir.file("net.pth"), {.device = Device("slate")});
  for (const LoadStep& step : report.steps) {
    EXPECT_EQ(step.how, LoadStep::How::copied) << step.key;
    EXPECT_EQ(step.device, slate());
  }
  EXPECT_EQ(net.a->weight->storage().identity(), memory);
  expect_error<DeviceError>([&] { load_into(net, dir.file("net.pth"), {.device = "slate:1"}); },
                            "only 1 of its type");
}

}  // namespace
}  // namespace tenon
