// User code that load_into runs: the filter, and the progress function, which may come at any time.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/matchers.h"
#include "support/talking_device.h"
#include "support/temp_dir.h"
#include "tenon/load_into.h"

namespace tenon {
namespace {

using testing::HasSubstr;

constexpr int kCount = 8;
constexpr std::int64_t kElements = 300'000;

struct Net final : nn::Module {
  Net() {
    for (int i = 0; i < kCount; ++i)
      register_parameter("p" + std::to_string(i), nn::make_parameter(zeros({kElements})));
  }
};

class LoadIntoUserCode : public testing::Test {
 protected:
  LoadIntoUserCode() : file(dir.file("net.pth")) {
    StateDict state;
    for (int i = 0; i < kCount; ++i) state.set("p" + std::to_string(i), ones({kElements}));
    save(state, file);
    set_num_threads(4);
  }
  ~LoadIntoUserCode() override { set_num_threads(before); }

  struct Outcome {
    std::string error;         // empty if there was none
    bool torn = false;         // whether tensors had been written before it
    bool happened = false;     // whether there were as many calls
    std::unique_ptr<Net> net;  // null if the deed destroyed it
  };
  using Deed = std::function<void(std::unique_ptr<Net>&)>;

  // With the deed at one of the calls of the progress function.
  Outcome load(const Deed& deed, int when, LoadIntoOptions options = {}) const {
    Outcome outcome;
    outcome.net = std::make_unique<Net>();
    Net& itself = *outcome.net;
    int calls = 0;
    options.watch.progress = [&](std::uint64_t, std::uint64_t) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      if (calls++ != when) return;
      outcome.happened = true;
      deed(outcome.net);
    };
    try {
      load_into(itself, file, options);
    } catch (const LoadError& error) {
      outcome.error = error.what();
      outcome.torn = !error.written().empty();
    } catch (const Error& error) {
      outcome.error = error.what();
      EXPECT_THAT(outcome.error, HasSubstr("was destroyed by user code"));
    }
    return outcome;
  }

  static std::vector<LoadIntoOptions> every_way() {
    return {{}, {.full_staging = true}, {.verify = false}, {.dtype = float64}, {.assign = true}};
  }

  const int before = get_num_threads();
  const std::thread::id caller = std::this_thread::get_id();
  TempDir dir;
  std::string file;
};

// What is loaded is loaded, whatever has become of the rest.
void expect_whole(const Net& net, const std::string& but) {
  for (const auto& [name, parameter] : net.named_parameters()) {
    if (name == but) continue;
    const Tensor value = parameter.detach().view({-1});
    const double first = value[0].item<double>();
    EXPECT_EQ(value[value.numel() - 1].item<double>(), first) << name;
  }
}

TEST_F(LoadIntoUserCode, InTheProgressFunctionMayDoAnythingToTheModule) {
  const std::vector<Deed> deeds{
      [](auto& net) { net->remove("p5"); },
      [](auto& net) {
        for (int i = 0; i < kCount; ++i) net->remove("p" + std::to_string(i));
      },
      [](auto& net) {
        for (int i = 0; i < kCount; ++i)
          net->register_parameter("p" + std::to_string(i), nn::make_parameter(full({7}, 9.0)));
      },
      [](auto& net) { swap_tensors(net->get_parameter("p5"), nn::make_parameter(full({7}, 9.0))); },
      [](auto& net) {
        swap_tensors(net->get_parameter("p5"), nn::make_parameter(full({kElements}, 9.0)));
      },
      [](auto& net) { net->get_parameter("p5").set_data(full({3}, 9.0)); },
      [](auto& net) { net.reset(); },
  };
  for (const LoadIntoOptions& options : every_way()) {
    for (const Deed& deed : deeds) {
      for (int when = 0; when < 40; when = when < 4 ? when + 1 : when * 2) {
        const Outcome outcome = load(deed, when, options);
        if (outcome.net) expect_whole(*outcome.net, "p5");
        // With the key, where it is an error.
        if (outcome.net && !outcome.error.empty()) {
          EXPECT_THAT(outcome.error, HasSubstr("\"p"));
        }
      }
    }
  }
}

TEST_F(LoadIntoUserCode, MayDestroyTheCheckpointAndTheOptions) {
  for (const bool in_filter : {true, false}) {
    Net net;
    auto checkpoint = std::make_unique<Checkpoint>(Checkpoint::open(file));
    auto options = std::make_unique<LoadIntoOptions>();
    const auto destroy = [&] {
      checkpoint.reset();
      options.reset();
    };
    if (in_filter) {
      options->filter = [&](std::string_view) {
        destroy();
        return true;
      };
    } else {
      options->watch.progress = [&](std::uint64_t, std::uint64_t) { destroy(); };
    }
    load_into(net, *checkpoint, *options);
    EXPECT_EQ(checkpoint, nullptr);
    for (const Tensor& one : net.parameters()) EXPECT_EQ(one.detach()[7].item<float>(), 1.0F);
  }
}

// A module with something beside its tensors, which is taken back if a load fails.
struct WithState final : nn::Module {
  nn::Parameter p{this, "p", nn::make_parameter(zeros({kElements}))};
  std::optional<Value> get_extra_state() const override { return Value(1); }
  void set_extra_state(const Value&) override { ++set; }
  int set = 0;
};

TEST_F(LoadIntoUserCode, ThatDestroysTheModuleTakesNothingBackInIt) {
  StateDict state;
  state.set("p", ones({kElements}));
  state.set("_extra_state", Value(2));
  const std::string path = dir.file("extra.pth");
  save(state, path);
  for (int when = 0; when < 6; ++when) {
    auto net = std::make_unique<WithState>();
    int calls = 0;
    LoadIntoOptions options;
    options.watch.progress = [&](std::uint64_t, std::uint64_t) {
      if (calls++ == when) net.reset();
    };
    try {
      load_into(*net, path, options);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("was destroyed by user code"));
    }
  }
}

TEST_F(LoadIntoUserCode, ThatTakesAViewOfATensorThatIsToBecomeAnotherIsALoadError) {
  set_num_threads(1);  // so that it is known how far it is at which call
  Tensor view;
  for (const int when : {0, 1, 3}) {
    view = {};
    const Outcome outcome = load([&](auto& net) { view = net->get_parameter("p5").view({-1, 1}); },
                                 when, {.dtype = float64});
    ASSERT_TRUE(outcome.happened);
    EXPECT_THAT(outcome.error, HasSubstr("1 live view"));
    EXPECT_THAT(outcome.error, HasSubstr("\"p5\""));
    EXPECT_FALSE(outcome.torn);
    EXPECT_TRUE(view.base().is(outcome.net->get_parameter("p5")));
  }
}

TEST_F(LoadIntoUserCode, ThatSwapsATensorWhileOthersAreConvertedIsALoadErrorThatNamesIt) {
  set_num_threads(1);  // so that it is known how far it is at which call
  const Outcome outcome = load(
      [](auto& net) { swap_tensors(net->get_parameter("p5"), nn::make_parameter(full({7}, 9.0))); },
      1, {.dtype = float64});
  EXPECT_THAT(outcome.error, HasSubstr("\"p5\" was swapped with another tensor"));
  EXPECT_FALSE(outcome.torn);
}

TEST_F(LoadIntoUserCode, ThatGivesATensorOtherDataBeforeAnythingIsWrittenLeavesTheModuleAsItWas) {
  set_num_threads(1);  // so that it is known how far it is at which call
  for (const LoadIntoOptions& options : {LoadIntoOptions{}, LoadIntoOptions{.dtype = float64}}) {
    const Outcome outcome =
        load([](auto& net) { net->get_parameter("p5").set_data(full({3}, 9.0)); }, 1, options);
    EXPECT_THAT(outcome.error, HasSubstr("has given it other data"));
    EXPECT_THAT(outcome.error, HasSubstr("\"p5\""));
    EXPECT_FALSE(outcome.torn);
    EXPECT_EQ(outcome.net->get_parameter("p0").detach()[0].item<double>(), 0.0);
  }
}

// Of a device's backend, which is called on the thread that loads.
TEST_F(LoadIntoUserCode, OfADeviceThatDestroysTheModuleIsAnError) {
  for (int when = 0; when < 200; when = when < 4 ? when + 1 : when * 2) {
    SCOPED_TRACE(testing::Message() << "at step " << when);
    auto net = std::make_unique<Net>();
    Net& itself = *net;
    itself.to(TalkingBackend::device());
    std::atomic<int> calls = 0, elsewhere = 0;
    std::string message;
    {
      const TalkingBackend::Steps steps([&] {
        if (std::this_thread::get_id() != caller) ++elsewhere;
        if (++calls == when) net.reset();
      });
      try {
        load_into(itself, file, {.full_staging = true});
      } catch (const Error& error) {
        message = error.what();
      }
    }
    EXPECT_EQ(elsewhere, 0);
    EXPECT_GT(calls, 0);
    if (when == 0) {
      EXPECT_EQ(message, "");
      for (const Tensor& one : net->parameters())
        EXPECT_EQ(one.detach().cpu()[kElements - 1].item<float>(), 1.0F);
    } else if (when <= 4) {
      EXPECT_THAT(message, HasSubstr("was destroyed by user code"));
    }
  }
}

TEST_F(LoadIntoUserCode, InTheFilterThatDestroysTheModuleIsAnError) {
  auto net = std::make_unique<Net>();
  Net& itself = *net;
  const LoadIntoOptions options{.filter = [&](std::string_view) {
    net.reset();
    return true;
  }};
  EXPECT_THAT(message_of<Error>([&] { load_into(itself, file, options); }),
              HasSubstr("was destroyed by user code"));
}

TEST_F(LoadIntoUserCode, InTheFilterMayTakeTensorsOut) {
  Net net;
  LoadIntoOptions options{.strict = false};
  options.filter = [&](std::string_view name) {
    if (name == "p3") net.remove("p0");
    return true;
  };
  const LoadIntoReport report = load_into(net, file, options);
  EXPECT_EQ(report.unexpected_keys, std::vector<std::string>{"p0"});
}

}  // namespace
}  // namespace tenon
