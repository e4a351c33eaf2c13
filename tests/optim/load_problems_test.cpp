// What the sentences about a load have of names that a file chose.
#include "optim/load_problems.h"

#include <string>

#include "support/matchers.h"

namespace tenon::optim {
namespace {

Value object(std::string name) { return Value::object(std::move(name), Value::tuple({}), Value()); }

TEST(LoadProblems, ShowTheBeginningOfALongNameOfAType) {
  const std::string name(1 << 20, 'a');
  const Tensor p = nn::make_parameter(ones({2}));
  SGD sgd({p});
  const auto expect_short = [](const std::string& message) {
    EXPECT_THAT(message, testing::HasSubstr("aaa..."));
    EXPECT_LT(message.size(), 2000u);
  };
  const auto state = [&](const Value& of_parameter, const Value& nesterov) {
    return Value::dict(
        {{"state", Value::dict({{0, of_parameter}})},
         {"param_groups", Value::list({Value::dict({{"lr", 0.5},
                                                    {"momentum", 0},
                                                    {"dampening", 0},
                                                    {"weight_decay", 0},
                                                    {"nesterov", nesterov},
                                                    {"params", Value::list({0})}})})}});
  };
  const auto refused = [&](const Value& bad) {
    return message_of<LoadError>([&] { sgd.load_state_dict(bad); });
  };
  expect_short(message_of<TypeError>([&] { sgd.load_state_dict(object(name)); }));
  expect_short(message_of<TypeError>([&] {
    sgd.load_state_dict(Value::dict({{"state", object(name)}, {"param_groups", Value::list({})}}));
  }));
  expect_short(refused(state(object(name), false)));
  expect_short(refused(state(Value::dict({{"momentum_buffer", object(name)}}), false)));
  expect_short(refused(state(Value::dict({}), object(name))));
  lr_scheduler::StepLR scheduler(sgd, 3);
  expect_short(message_of<TypeError>([&] { scheduler.load_state_dict(object(name)); }));
  expect_short(message_of<LoadError>(
      [&] { scheduler.load_state_dict(Value::dict({{"step_size", object(name)}})); }));
}

}  // namespace
}  // namespace tenon::optim
