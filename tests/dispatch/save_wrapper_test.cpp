// User-defined tensors in checkpoints.
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

// Registered here, and not elsewhere.
class RegisteredTensor : public Wrapper<RegisteredTensor> {
 public:
  RegisteredTensor(Tensor payload, double factor)
      : Wrapper(payload), elem(std::move(payload)), scale(factor) {}
  std::optional<Value> dispatch(const OpCall&) const override { return std::nullopt; }
  std::optional<Flattened> flatten() const override { return Flattened{{{"elem", elem}}, scale}; }
  Tensor elem;
  double scale;
};

class UnknownTensor : public Wrapper<UnknownTensor> {
 public:
  explicit UnknownTensor(Tensor payload) : Wrapper(payload), elem(std::move(payload)) {}
  std::optional<Value> dispatch(const OpCall&) const override { return std::nullopt; }
  std::optional<Flattened> flatten() const override {
    return Flattened{{{"elem", elem}}, "context"};
  }
  Tensor elem;
};

class SilentTensor : public Wrapper<SilentTensor> {
 public:
  explicit SilentTensor(const Tensor& payload) : Wrapper(payload) {}
  std::optional<Value> dispatch(const OpCall&) const override { return std::nullopt; }
};

void register_once() {
  static const bool registered = [] {
    const Tensor sample = make_tensor<RegisteredTensor>(ones({1}), 1.0);
    register_unflatten(sample.body().type_name(), [](const Flattened& parts, const Layout&) {
      return make_tensor<RegisteredTensor>(parts.tensors.at(0).second, parts.context.as_real());
    });
    return true;
  }();
  EXPECT_TRUE(registered);
}

TEST(SavedWrapper, ComesBackAsItsClassWhenThatIsRegistered) {
  register_once();
  const TempDir folder;
  const Tensor wrapped = make_tensor<RegisteredTensor>(arange(6.0).view({2, 3}), 0.25);
  const Value state = Value::dict({{"w", wrapped}, {"again", wrapped}, {"plain", arange(3)}});
  for (const std::string name : {"x.pth", "x.safetensors"}) {
    save(state, folder.file(name));
    const Value back = load(folder.file(name));
    ASSERT_TRUE(back.find("w")->is_tensor()) << name;
    const Tensor again = back.find("w")->as_tensor();
    ASSERT_NE(again.as<RegisteredTensor>(), nullptr);
    EXPECT_EQ(again.as<RegisteredTensor>()->scale, 0.25);
    EXPECT_TRUE(equal(again.as<RegisteredTensor>()->elem, arange(6.0).view({2, 3})));
    EXPECT_EQ(again.shape(), (Shape{2, 3}));
    EXPECT_TRUE(equal(back.find("plain")->as_tensor(), arange(3)));
    const Tensor other = back.find("again")->as_tensor();
    ASSERT_NE(other.as<RegisteredTensor>(), nullptr);
    EXPECT_EQ(other.is(again), name == "x.pth");
    EXPECT_EQ(other.as<RegisteredTensor>()->elem.storage().identity(),
              again.as<RegisteredTensor>()->elem.storage().identity());
    save(back, folder.file("second-" + name));
    EXPECT_TRUE(load(folder.file("second-" + name)).find("w")->is_tensor());
  }
}

TEST(SavedWrapper, StaysADictWhenItsClassIsNotKnown) {
  register_once();
  const TempDir folder;
  const Value state = Value::dict({{"u", make_tensor<UnknownTensor>(arange(4.0))}});
  for (const std::string name : {"x.pth", "x.safetensors"}) {
    save(state, folder.file(name));
    for (int i = 0; i < 2; ++i) {
      const Value back = load(folder.file(name));
      const Value& dict = *back.find("u");
      ASSERT_EQ(dict.kind(), Value::Kind::dict) << name;
      EXPECT_TRUE(equal(dict.find("elem")->as_tensor(), arange(4.0)));
      EXPECT_EQ(dict.find("tenon.context")->as_string(), "context");
      save(back, folder.file(name));  // and is still the same after another round
    }
  }
}

TEST(SavedWrapper, ThatDoesNotFlattenIsRefused) {
  const TempDir folder;
  const Value state = Value::dict({{"s", make_tensor<SilentTensor>(arange(4.0))}});
  for (const std::string name : {"x.pth", "x.safetensors"})
    expect_error<TypeError>([&] { save(state, folder.file(name)); }, "SilentTensor", "flatten()");
}

TEST(SavedWrapper, MayHoldOthersAndIsCompacted) {
  register_once();
  const TempDir folder;
  const Tensor inner = make_tensor<RegisteredTensor>(zeros({100'000}).slice(0, 0, 2), 0.5);
  const Value state = Value::dict({{"w", make_tensor<RegisteredTensor>(inner, 2.0)}});
  for (const std::string name : {"x.pth", "x.safetensors"}) {
    const SaveReport report = save(state, folder.file(name), {.compact = true});
    EXPECT_LT(report.bytes, 5000u) << name;
    const Tensor back = load(folder.file(name)).find("w")->as_tensor();
    ASSERT_NE(back.as<RegisteredTensor>(), nullptr);
    EXPECT_NE(back.as<RegisteredTensor>()->elem.as<RegisteredTensor>(), nullptr);
  }
}

}  // namespace
}  // namespace tenon
