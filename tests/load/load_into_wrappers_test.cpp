// User-defined tensors that a file holds: load_into reads them back as load and load_state_dict do.
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/extend.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using testing::HasSubstr;

// Numbers as bfloat16, and a factor.
class Halved final : public Wrapper<Halved> {
 public:
  Halved(Tensor payload, double factor)
      : Wrapper(float_like(payload)), elem(std::move(payload)), scale(factor) {}

  static Tensor float_like(const Tensor& payload) {
    return empty(payload.shape(), {.dtype = float32, .device = payload.device()});
  }
  static Tensor payload_of(const Tensor& tensor) {
    const auto* halved = tensor.as<Halved>();
    return halved != nullptr ? halved->elem : tensor;
  }
  std::optional<Value> dispatch(const OpCall& call) const override {
    if (call.is<op::copy_>()) {
      call.call_with(payload_of);
      return Value(call.tensors()[0]);
    }
    if (call.is_any<op::detach, op::to_copy>())
      return make_tensor<Halved>(call.call_with(payload_of).as_tensor().to(bfloat16), scale);
    return std::nullopt;
  }
  std::optional<Tensor> module_load(const Tensor& dest, const Tensor& src,
                                    bool assign) const override {
    const auto* from = src.as<Halved>();
    const Tensor numbers = payload_of(src).to(bfloat16);
    return make_tensor<Halved>(assign ? numbers : numbers.clone(),
                               from != nullptr ? from->scale : dest.as<Halved>()->scale);
  }
  std::optional<Flattened> flatten() const override { return Flattened{{{"elem", elem}}, scale}; }
  void for_each_payload(const std::function<void(const Tensor&)>& visit) const override {
    visit(elem);
  }
  Tensor elem;
  double scale;
};

void register_halved() {
  static const bool registered = [] {
    register_unflatten("Halved", [](const Flattened& parts, const Layout&) {
      return make_tensor<Halved>(parts.tensors.at(0).second, parts.context.as_real());
    });
    return true;
  }();
  (void)registered;
}

enum class Has { plain, meta, halved, halved_on_meta };

struct Case {
  const char* format;
  Has has;
  bool assign, swap;
};

std::string name_of(const testing::TestParamInfo<Case>& one) {
  constexpr const char* kHas[] = {"Plain", "Meta", "Halved", "HalvedOnMeta"};
  return std::string(one.param.format + 1) + kHas[static_cast<int>(one.param.has)] +
         (one.param.assign ? "Assign" : "") + (one.param.swap ? "Swap" : "");
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* format : {".pth", ".safetensors"}) {
    for (const Has has : {Has::plain, Has::meta, Has::halved, Has::halved_on_meta}) {
      for (const bool assign : {false, true}) {
        for (const bool swap : {false, true}) all.push_back({format, has, assign, swap});
      }
    }
  }
  return all;
}

std::shared_ptr<nn::Linear> target(Has has) {
  const bool on_meta = has == Has::meta || has == Has::halved_on_meta;
  auto made = with_device(on_meta ? "meta" : "cpu", [] { return nn::make<nn::Linear>(16, 8); });
  if (has == Has::halved || has == Has::halved_on_meta) {
    made->weight =
        nn::make_parameter(make_tensor<Halved>(made->weight->detach().to(bfloat16), 3.0));
  }
  return made;
}

std::string described(const Tensor& tensor) {
  const auto* halved = tensor.as<Halved>();
  if (halved == nullptr) return tensor.detach().repr();
  return std::string("Halved ") + halved->elem.repr() + " " + Value(halved->scale).repr() +
         (tensor.is_parameter() ? " parameter" : "") + (tensor.requires_grad() ? " grad" : "");
}

class LoadIntoWrappers : public testing::TestWithParam<Case> {
 protected:
  LoadIntoWrappers() : file(dir.file(std::string("net") + GetParam().format)) {
    register_halved();
    manual_seed(4);
    source = target(Has::halved);
    save(source->state_dict(), file);
  }
  TempDir dir;
  std::string file;
  std::shared_ptr<nn::Linear> source;
};

INSTANTIATE_TEST_SUITE_P(All, LoadIntoWrappers, testing::ValuesIn(cases()), name_of);

TEST_P(LoadIntoWrappers, AreReadBackAsByLoadStateDict) {
  const nn::SwapOnConversionScope swap(GetParam().swap);
  const auto expected = target(GetParam().has), net = target(GetParam().has);
  const Tensor weight = net->weight, before = expected->weight;
  const bool assign = GetParam().assign;
  // What is on meta becomes what is loaded, where load_state_dict leaves it alone.
  const bool filled =
      (GetParam().has == Has::meta || GetParam().has == Has::halved_on_meta) && !assign;
  std::string refused;
  try {
    expected->load_state_dict(load(file), {.assign = assign || filled});
  } catch (const LoadError& error) {
    refused = error.what();
  }
  if (!refused.empty()) {
    const std::string mine =
        message_of<LoadError>([&] { load_into(*net, file, {.assign = assign}); });
    EXPECT_EQ(mine, refused);
    EXPECT_TRUE(net->weight.get().is(weight));
    return;
  }
  const LoadIntoReport planned = load_into(*net, file, {.assign = assign, .dry_run = true});
  EXPECT_TRUE(net->weight.get().is(weight));
  EXPECT_THAT(planned.plan(), HasSubstr("weight [8, 16]"));
  const LoadIntoReport report = load_into(*net, file, {.assign = assign});
  EXPECT_EQ(report.plan(), planned.plan());
  EXPECT_TRUE(report.empty());
  EXPECT_EQ(described(net->weight), described(expected->weight));
  EXPECT_TRUE(equal(net->bias->detach(), source->bias->detach()));
  if (!filled) {
    EXPECT_EQ(net->weight.get().is(weight), expected->weight.get().is(before));
  }
  // 8 x 16 numbers of two bytes, and 8 of four.
  EXPECT_GE(report.bytes_read, 8u * 16 * 2 + 8 * 4);
}

TEST_P(LoadIntoWrappers, AreChosenByTheirNamesAndNotByTheirParts) {
  std::vector<std::string> asked;
  const auto only = [&](std::string_view wanted) {
    return [&asked, wanted](std::string_view name) {
      asked.emplace_back(name);
      return name == wanted;
    };
  };
  const StateDict weight = load(file, {.filter = only("weight")});
  ASSERT_EQ(weight.size(), 1u);
  EXPECT_EQ(described(weight.tensor("weight")), described(source->weight->detach()));
  EXPECT_THAT(asked, testing::UnorderedElementsAre("weight", "bias"));
  const StateDict bias = load(file, {.filter = only("bias")});
  EXPECT_EQ(bias.size(), 1u);
  EXPECT_TRUE(bias.contains("bias"));
  const auto net = target(GetParam().has);
  const LoadIntoReport report =
      load_into(*net, file, {.strict = false, .assign = true, .filter = only("bias")});
  EXPECT_THAT(report.missing_keys, testing::ElementsAre("weight"));
}

// Its class has numbers of float32 whatever they are asked to be, so the dtype of the result is
// that of the class's answer.
TEST_P(LoadIntoWrappers, BecomeWhatIsAskedForWhateverTheModuleHas) {
  const nn::SwapOnConversionScope swap(GetParam().swap);
  const auto net = target(GetParam().has);
  const Tensor weight = net->weight;
  const LoadIntoOptions options{.assign = GetParam().assign, .dtype = float64};
  const LoadIntoReport planned = [&] {
    LoadIntoOptions dry = options;
    dry.dry_run = true;
    return load_into(*net, file, dry);
  }();
  const LoadIntoReport report = load_into(*net, file, options);
  EXPECT_EQ(report.plan(), planned.plan());
  EXPECT_NE(net->weight->as<Halved>(), nullptr);
  EXPECT_EQ(net->weight->as<Halved>()->scale, 3.0);
  EXPECT_TRUE(net->weight->is_parameter());
  EXPECT_EQ(net->bias->dtype(), float64);
  EXPECT_TRUE(equal(net->weight->as<Halved>()->elem, source->weight->as<Halved>()->elem));
  if (!GetParam().assign || GetParam().swap) {
    EXPECT_TRUE(net->weight.get().is(weight));
  }
}

TEST_P(LoadIntoWrappers, ThatDoNotFitLeaveTheModuleAsItWas) {
  const nn::SwapOnConversionScope swap(GetParam().swap);
  nn::Linear net(16, 9);
  const Tensor weight = net.weight, values = weight.detach().clone();
  const std::string message =
      message_of<LoadError>([&] { load_into(net, file, {.assign = GetParam().assign}); });
  EXPECT_THAT(message, HasSubstr("size mismatch for weight"));
  EXPECT_TRUE(net.weight.get().is(weight));
  EXPECT_TRUE(equal(weight.detach(), values));
}

TEST_P(LoadIntoWrappers, AreCountedAgainstTheBudget) {
  const nn::SwapOnConversionScope swap(GetParam().swap);
  const auto net = target(GetParam().has);
  expect_error<ValueError>(
      [&] { load_into(*net, file, {.assign = GetParam().assign, .memory_budget = 100}); },
      "budget is 100");
}

}  // namespace
}  // namespace tenon
