// User code that changes what is being saved: flatten() of user-defined tensors, and the function
// that is told of progress.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/extend/wrapper.h"
#include "tenon/save.h"

namespace tenon {
namespace {

// What it does before it says what it is made of, once.
std::function<void()> meanwhile;

class Busy final : public Wrapper<Busy> {
 public:
  explicit Busy(Tensor payload) : Wrapper(payload), elem(std::move(payload)) {}
  std::optional<Flattened> flatten() const override {
    if (const auto deed = std::exchange(meanwhile, nullptr)) deed();
    return Flattened{{{"elem", elem}}, {}};
  }
  Tensor elem;
};
Tensor busy(double value) { return make_tensor<Busy>(full({2}, value)); }

// Made of another one of its kind, and so on.
class Endless final : public Wrapper<Endless> {
 public:
  Endless() : Wrapper(ones({2})) {}
  std::optional<Flattened> flatten() const override {
    return Flattened{{{"elem", make_tensor<Endless>()}}, {}};
  }
};

TEST(SaveUserCode, MayChangeTheAttributesThatAreBeingWritten) {
  const Tensor tensor = ones({2});
  tensor.set_attribute("first", busy(1));
  tensor.set_attribute("second", "as it was");
  meanwhile = [&] {
    for (int i = 0; i < 50; ++i) tensor.set_attribute("more" + std::to_string(i), i);
    tensor.set_attribute("first", 1);
    tensor.set_attribute("second", Value::list({"something else"}));
  };
  const TempDir dir;
  save(tensor, dir.file("tensor.pth"));
  const auto attributes = load(dir.file("tensor.pth")).as_tensor().attributes();
  ASSERT_EQ(attributes.size(), 2U);
  EXPECT_EQ(attributes[1].second, Value("as it was"));
  EXPECT_EQ(tensor.attributes().size(), 52U);
}

TEST(SaveUserCode, ThatSwapsATensorThatWasLookedAtIsAnErrorInSafetensors) {
  const TempDir dir;
  const Tensor plain = ones({2});
  meanwhile = [&] { swap_tensors(plain, busy(2)); };
  StateDict state;
  state.set("plain", plain);
  state.set("busy", busy(1));
  expect_error<ValueError>([&] { save(state, dir.file("state.safetensors")); },
                           "user code has swapped a tensor");
  EXPECT_FALSE(std::filesystem::exists(dir.file("state.safetensors")));
}

TEST(SaveUserCode, ThatGivesATensorOfALaterShardOtherDataIsAnError) {
  const TempDir dir;
  StateDict state;
  for (const char* name : {"a", "b", "c"}) state.set(name, ones({8}));
  SaveOptions options{.shard_size = 32};
  options.watch.progress = [&](std::uint64_t done, std::uint64_t) {
    if (done == 0) return;
    for (const char* name : {"a", "b", "c"}) state.tensor(name).set_data(ones({100}));
  };
  expect_error<ValueError>([&] { save(state, dir.file("shards"), options); },
                           "while it was being saved");
  EXPECT_FALSE(std::filesystem::exists(dir.file("shards")));
}

TEST(SaveUserCode, ThatNeverComesToAnEndOfWhatItIsMadeOfIsAnError) {
  const Value endless = Value::dict({{"endless", make_tensor<Endless>()}});
  for (const SaveOptions& options : {SaveOptions{}, SaveOptions{.compact = true},
                                     SaveOptions{.format = FileFormat::safetensors}})
    EXPECT_THROW(save_to_memory(endless, options), ValueError);
}

}  // namespace
}  // namespace tenon
