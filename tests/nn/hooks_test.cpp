// Hooks around calls: their order, what they may replace, and what happens when something throws.
#include "tenon/nn/hooks.h"

#include <atomic>
#include <optional>
#include <stdexcept>
#include <thread>

#include "nn/names.h"
#include "support/matchers.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Gives its input times a number, which may be left out, and fails when told to.
class Times : public Callable<Tensor(const Tensor&, std::optional<double>)> {
 public:
  bool fails = false;
  int calls = 0;

 protected:
  Tensor forward(const Tensor& x, std::optional<double> by) override {
    ++calls;
    if (fails) throw ValueError("forward fails");
    return x * by.value_or(1);
  }
};
using Args = Times::Args;

double number(const Tensor& tensor) { return tensor.item<double>(); }

class WarningsTo {
 public:
  explicit WarningsTo(std::vector<std::string>& list)
      : before_(set_warning_handler([&](const std::string& text) { list.push_back(text); })) {}
  ~WarningsTo() { set_warning_handler(before_); }
  WarningsTo(const WarningsTo&) = delete;

 private:
  WarningHandler before_;
};

TEST(Hooks, FireInOrderWithPrependedOnesFirst) {
  Times times;
  std::vector<int> pre, post;
  const auto add = [&](int i, bool prepend) {
    times.register_forward_pre_hook([&pre, i](Module&, Args&) { pre.push_back(i); },
                                    {.prepend = prepend});
    times.register_forward_hook([&post, i](Module&, const Args&, Tensor&) { post.push_back(i); },
                                {.prepend = prepend});
  };
  add(0, false);
  add(1, true);
  add(2, false);
  add(3, false);
  add(4, true);
  times(ones({1}), 2.0);
  EXPECT_THAT(pre, ElementsAre(4, 1, 0, 2, 3));
  EXPECT_THAT(post, ElementsAre(4, 1, 0, 2, 3));
}

TEST(Hooks, ReplaceArgumentsAndResults) {
  Times times;
  times.register_forward_pre_hook([&](Module& module, Args& args) {
    EXPECT_EQ(&module, &times);
    std::get<0>(args) = std::get<0>(args) + 1.0;
  });
  times.register_forward_pre_hook([](Module&, Args& args) { std::get<1>(args) = 10; });
  times.register_forward_hook([](Module&, const Args& args, Tensor& result) {
    EXPECT_EQ(number(std::get<0>(args)), 2);  // as forward was given them
    EXPECT_EQ(std::get<1>(args), 10);
    result = result + 0.5;
  });
  times.register_forward_hook([](Module&, const Args&, Tensor& result) { result = result * 2.0; });
  EXPECT_EQ(number(times(ones({}), 3.0)), 41);
  EXPECT_EQ(number(times(ones({}))), 41);
  EXPECT_EQ(times.calls, 2);
}

TEST(Hooks, AreRemovedByTheirHandles) {
  Times times;
  int calls = 0;
  auto pre = times.register_forward_pre_hook([&](Module&, Args&) { ++calls; });
  auto post = times.register_forward_hook([&](Module&, const Args&, Tensor&) { calls += 10; });
  EXPECT_LT(pre.id(), post.id());
  times(ones({}));
  pre.remove();
  times(ones({}));
  EXPECT_EQ(calls, 21);
  post.remove();
  post.remove();
  times(ones({}));
  EXPECT_EQ(calls, 21);
  RemovableHandle().remove();
}

TEST(Hooks, MayRemoveAndRegisterHooksWhichCountsFromTheNextCall) {
  Times times;
  std::vector<std::string> log;
  RemovableHandle first, second;
  first = times.register_forward_pre_hook([&](Module&, Args&) {
    log.emplace_back("first");
    first.remove();
    second.remove();
    times.register_forward_pre_hook([&](Module&, Args&) { log.emplace_back("new"); });
  });
  second = times.register_forward_pre_hook([&](Module&, Args&) { log.emplace_back("second"); });
  times(ones({}));
  EXPECT_THAT(log, ElementsAre("first", "second"));
  log.clear();
  times(ones({}));
  EXPECT_THAT(log, ElementsAre("new"));
}

TEST(Hooks, KeepTheirStateAndAreNotCopiedWhenOthersComeAndGo) {
  struct Counter {
    explicit Counter(int& made) : copies(&made) {}
    Counter(const Counter& other) : calls(other.calls), copies(other.copies) { ++*copies; }
    Counter(Counter&&) = default;
    void operator()(Module&, Args& args) { std::get<1>(args) = ++calls; }
    int calls = 0;
    int* copies;
  };
  int copies = 0;
  Times times;
  times.register_forward_pre_hook(Counter(copies));
  const int before = copies;
  EXPECT_EQ(number(times(ones({}))), 1);
  RemovableHandle other = times.register_forward_pre_hook([](Module&, Args&) {});
  EXPECT_EQ(number(times(ones({}))), 2);
  other.remove();
  EXPECT_EQ(number(times(ones({}))), 3);
  EXPECT_EQ(copies, before);
}

TEST(Hooks, DoNotKeepTheModuleAliveAndHandlesOutliveIt) {
  auto times = make<Times>();
  const std::weak_ptr<Times> watch = times;
  auto pre = times->register_forward_pre_hook([](Module&, Args&) {});
  auto state = times->register_state_dict_pre_hook([](Module&, const std::string&, bool) {});
  EXPECT_EQ(times.use_count(), 1);
  times.reset();
  EXPECT_TRUE(watch.expired());
  pre.remove();
  state.remove();
}

TEST(Hooks, WhatAHookThrowsEndsTheCall) {
  Times times;
  auto handle = times.register_forward_pre_hook([](Module&, Args&) { throw ValueError("pre"); });
  EXPECT_EQ(message_of<ValueError>([&] { times(ones({})); }), "pre (in Times())");
  EXPECT_EQ(times.calls, 0);
  handle.remove();
  times.register_forward_hook(
      [](Module&, const Args&, Tensor&) { throw std::runtime_error("post"); });
  EXPECT_EQ(message_of<std::runtime_error>([&] { times(ones({})); }), "post");
  EXPECT_EQ(times.calls, 1);
}

TEST(AlwaysCalledHooks, RunWhenForwardThrows) {
  Times times;
  std::vector<std::string> log;
  times.register_forward_hook([&](Module&, const Args&, Tensor&) { log.emplace_back("usual"); });
  times.register_forward_hook(
      [&](Module&, const Args& args, Tensor& result) {
        EXPECT_EQ(number(std::get<0>(args)), 1);
        log.emplace_back(result.defined() ? "result" : "none");
      },
      {.always_call = true});
  times(ones({}));
  EXPECT_THAT(log, ElementsAre("usual", "result"));
  log.clear();
  times.fails = true;
  EXPECT_EQ(message_of<ValueError>([&] { times(ones({})); }), "forward fails (in Times())");
  EXPECT_THAT(log, ElementsAre("none"));
}

TEST(AlwaysCalledHooks, RunOnceWhenAnotherHookThrows) {
  Times times;
  std::vector<std::string> log;
  const auto note = [&](const char* name) {
    return [&log, name](Module&, const Args&, Tensor&) { log.emplace_back(name); };
  };
  times.register_forward_hook(note("before"), {.always_call = true});
  times.register_forward_hook([](Module&, const Args&, Tensor&) { throw ValueError("between"); });
  times.register_forward_hook(note("after"), {.always_call = true});
  times.register_forward_hook(note("usual"));
  EXPECT_EQ(message_of<ValueError>([&] { times(ones({})); }), "between (in Times())");
  EXPECT_THAT(log, ElementsAre("before", "after"));
  log.clear();
  auto pre = times.register_forward_pre_hook([](Module&, Args&) { throw ValueError("first"); });
  EXPECT_EQ(message_of<ValueError>([&] { times(ones({})); }), "first (in Times())");
  EXPECT_THAT(log, ElementsAre("before", "after"));
}

TEST(AlwaysCalledHooks, TheirOwnFailuresAreWarningsBesideAnother) {
  Times times;
  std::vector<std::string> warnings;
  const WarningsTo to(warnings);
  int later = 0;
  times.register_forward_hook([](Module&, const Args&, Tensor&) { throw ValueError("hook fails"); },
                              {.always_call = true});
  times.register_forward_hook([](Module&, const Args&, Tensor&) { throw 7; },
                              {.always_call = true});
  times.register_forward_hook([&](Module&, const Args&, Tensor&) { ++later; },
                              {.always_call = true});
  times.fails = true;
  EXPECT_EQ(message_of<ValueError>([&] { times(ones({})); }), "forward fails (in Times())");
  EXPECT_THAT(warnings,
              ElementsAre("module forward hook with always_call raised an exception that was "
                          "silenced as another error was raised in forward: hook fails",
                          "module forward hook with always_call raised an exception that was "
                          "silenced as another error was raised in forward"));
  EXPECT_EQ(later, 1);
  // Alone, it is an error like any other, which those behind it hear of.
  warnings.clear();
  times.fails = false;
  EXPECT_EQ(message_of<ValueError>([&] { times(ones({})); }), "hook fails (in Times())");
  EXPECT_EQ(warnings.size(), 1U);
  EXPECT_EQ(later, 2);
}

TEST(GlobalHooks, RunBeforeAModulesOwn) {
  Times times;
  std::vector<std::string> log;
  times.register_forward_pre_hook([&](Module&, Args&) { log.emplace_back("own pre"); },
                                  {.prepend = true});
  times.register_forward_hook([&](Module&, const Args&, Tensor&) { log.emplace_back("own"); },
                              {.prepend = true});
  auto pre = register_module_forward_pre_hook([&](Module& module, Arguments& args) {
    EXPECT_EQ(&module, &times);
    EXPECT_EQ(args.size(), 2U);
    log.emplace_back("all pre");
  });
  auto post = register_module_forward_hook(
      [&](Module&, const Arguments&, std::any&) { log.emplace_back("all"); });
  times(ones({}));
  EXPECT_THAT(log, ElementsAre("all pre", "own pre", "all", "own"));
  pre.remove();
  post.remove();
  times(ones({}));
  EXPECT_EQ(log.size(), 6U);
}

TEST(GlobalHooks, SeeEveryModuleAndMayReplaceValues) {
  Sequential net(make<Identity>(), make<Dropout>(0.0));
  std::vector<std::string> log;
  auto pre = register_module_forward_pre_hook([&](Module& module, Arguments& args) {
    log.push_back(module.type_name());
    args[0] = std::any_cast<Tensor>(args[0]) + 1.0;
  });
  auto post = register_module_forward_hook([](Module&, const Arguments& args, std::any& result) {
    EXPECT_EQ(args.size(), 1U);
    result = std::any_cast<Tensor>(result) * 2.0;
  });
  EXPECT_EQ(number(net(zeros({}))), 2 * (2 * (2 * 2 + 1)));
  EXPECT_THAT(log, ElementsAre("Sequential", "Identity", "Dropout"));
  pre.remove();
  post.remove();
  EXPECT_EQ(number(net(ones({}))), 1);
}

TEST(GlobalHooks, MustLeaveTheTypesAsTheyAre) {
  Times times;
  auto pre = register_module_forward_pre_hook([](Module&, Arguments& args) { args[0] = 1; });
  EXPECT_EQ(message_of<TypeError>([&] { times(ones({})); }),
            "Times.forward(): argument 1 is a int but a Tensor is taken");
  pre.remove();
  pre = register_module_forward_pre_hook([](Module&, Arguments& args) { args.pop_back(); });
  EXPECT_EQ(message_of<TypeError>([&] { times(ones({})); }),
            "Times.forward() takes 2 arguments but 1 was given");
  pre.remove();
  auto post = register_module_forward_hook(
      [](Module&, const Arguments&, std::any& result) { result.reset(); });
  expect_error<TypeError>([&] { times(ones({})); }, "Times.forward()", "a None but a Tensor");
  post.remove();
}

TEST(GlobalHooks, AreAlwaysCalledToo) {
  Times times;
  std::vector<std::string> log, warnings;
  const WarningsTo to(warnings);
  auto first = register_module_forward_hook(
      [&](Module&, const Arguments&, std::any&) {
        log.emplace_back("all");
        throw ValueError("global fails");
      },
      true);
  auto usual = register_module_forward_hook(
      [&](Module&, const Arguments&, std::any&) { log.emplace_back("usual"); });
  times.register_forward_hook([&](Module&, const Args&, Tensor&) { log.emplace_back("own"); },
                              {.always_call = true});
  times.fails = true;
  EXPECT_EQ(message_of<ValueError>([&] { times(ones({})); }), "forward fails (in Times())");
  EXPECT_THAT(log, ElementsAre("all", "own"));
  EXPECT_THAT(warnings,
              ElementsAre("global module forward hook with always_call raised an exception that "
                          "was silenced as another error was raised in forward: global fails"));
  times.fails = false;
  log.clear();
  warnings.clear();
  EXPECT_EQ(message_of<ValueError>([&] { times(ones({})); }), "global fails (in Times())");
  EXPECT_THAT(log, ElementsAre("all", "own"));
  EXPECT_THAT(warnings, IsEmpty());
  first.remove();
  usual.remove();
}

TEST(GlobalHooks, ComeAndGoWhileOthersCall) {
  std::atomic<int> calls{0};
  std::atomic<bool> done{false};
  auto first = register_module_forward_pre_hook([&](Module&, Arguments&) { ++calls; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      Times times;
      const Tensor x = ones({});
      while (!done) times(x);
    });
  }
  while (calls < 10) std::this_thread::yield();
  for (int i = 0; i < 50; ++i)
    register_module_forward_hook([&](Module&, const Arguments&, std::any&) { ++calls; }).remove();
  const int before = calls;
  while (calls < before + 10) std::this_thread::yield();
  done = true;
  for (std::thread& thread : threads) thread.join();
  first.remove();
}

TEST(Invoke, TakesArgumentsWhoseTypesAreKnownAtRunTime) {
  Times times;
  int hooks = 0;
  times.register_forward_pre_hook([&](Module&, Args&) { ++hooks; });
  Module& module = times;
  const auto run = [&](Arguments args) {
    return number(std::any_cast<Tensor>(module.invoke(std::move(args))));
  };
  EXPECT_EQ(run({ones({}), std::optional<double>(3)}), 3);
  EXPECT_EQ(run({ones({})}), 1);
  EXPECT_EQ(number(module.invoke(ones({}))), 1);
  EXPECT_EQ(hooks, 3);
}

TEST(Invoke, SaysWhichArgumentIsOfTheWrongType) {
  Times times;
  Module& module = times;
  const auto failure = [&](Arguments args) {
    return message_of<TypeError>([&] { module.invoke(std::move(args)); });
  };
  EXPECT_EQ(failure({1.5}), "Times.forward(): argument 1 is a double but a Tensor is taken");
  EXPECT_EQ(failure({ones({}), 1.5}),
            "Times.forward(): argument 2 is a double but a optional is taken");
  EXPECT_EQ(failure({ones({}), std::optional<double>(), 1}),
            "Times.forward() takes 2 arguments but 3 were given");
  EXPECT_EQ(failure({std::any()}), "Times.forward(): argument 1 is a None but a Tensor is taken");
  EXPECT_EQ(times.calls, 0);
}

class NeedsBoth : public Callable<Tensor(const Tensor&, std::reference_wrapper<int>)> {
 protected:
  Tensor forward(const Tensor& x, std::reference_wrapper<int> n) override {
    ++n.get();
    return x;
  }
};

class Counts : public Callable<std::int64_t(const std::string&)> {
 protected:
  std::int64_t forward(const std::string& text) override {
    return static_cast<std::int64_t>(text.size());
  }
};

TEST(Invoke, CannotLeaveOutWhatHasNoDefault) {
  NeedsBoth both;
  Module& module = both;
  EXPECT_EQ(message_of<TypeError>([&] { module.invoke(Arguments{ones({})}); }),
            "NeedsBoth.forward() takes 2 arguments but 1 was given");
  EXPECT_EQ(message_of<TypeError>([&] { module.invoke(ones({})); }),
            "a NeedsBoth cannot be called with one tensor to give one: its forward() takes or "
            "gives something else");
  int calls = 0;
  both(ones({}), std::ref(calls));
  module.invoke(Arguments{ones({}), std::ref(calls)});
  EXPECT_EQ(calls, 2);
}

TEST(Invoke, OfOtherTypesGivesThem) {
  Counts counts;
  counts.register_forward_hook(
      [](Module&, const Counts::Args&, std::int64_t& result) { result += 100; });
  EXPECT_EQ(counts("four"), 104);
  EXPECT_EQ(std::any_cast<std::int64_t>(counts.invoke(Arguments{std::string("four")})), 104);
  expect_error<TypeError>([&] { counts.invoke(ones({})); }, "a Counts cannot be called");
}

// Takes its argument by value and uses it up.
class Consumes : public Callable<Tensor(std::vector<Tensor>)> {
 protected:
  Tensor forward(std::vector<Tensor> tensors) override {
    const std::vector<Tensor> mine = std::move(tensors);
    return mine.at(0);
  }
};

TEST(Hooks, SeeArgumentsThatForwardTookByValue) {
  Consumes consumes;
  std::size_t seen = 0;
  consumes.register_forward_hook(
      [&](Module&, const Consumes::Args& args, Tensor&) { seen = std::get<0>(args).size(); });
  EXPECT_EQ(number(consumes({ones({}), zeros({})})), 1);
  EXPECT_EQ(seen, 2U);
}

TEST(Hooks, MayOwnWhatRemovesThem) {
  struct Recorder {
    RemovableHandle handle;
    ~Recorder() { handle.remove(); }
  };
  Linear layer(1, 1);
  auto recorder = std::make_shared<Recorder>();
  recorder->handle =
      layer.register_forward_hook([recorder](Module&, const std::tuple<Tensor>&, Tensor&) {});
  RemovableHandle handle = recorder->handle;
  recorder.reset();
  handle.remove();  // the last to hold the recorder goes with the hook
  EXPECT_NO_THROW(layer(ones({1})));
}

// As a lazy module removes its own, by their number.
TEST(Hooks, MayOwnWhatDestroysTheModuleThatRemovesThem) {
  struct Layer1 final : Layer {
    using Layer::remove_forward_pre_hook;
    Tensor forward(const Tensor& x) override { return x; }
  };
  struct Destroys {
    std::unique_ptr<Layer1>* layer;
    explicit Destroys(std::unique_ptr<Layer1>& one) : layer(&one) {}
    ~Destroys() { layer->reset(); }
  };
  auto layer = std::make_unique<Layer1>();
  const RemovableHandle handle = layer->register_forward_pre_hook(
      [held = std::make_shared<Destroys>(layer)](Module&, std::tuple<Tensor>&) {});
  layer->remove_forward_pre_hook(handle.id());
  EXPECT_EQ(layer, nullptr);
}

}  // namespace
}  // namespace tenon::nn
