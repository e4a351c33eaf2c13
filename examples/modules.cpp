// Writing a network in C++ from its Python source: places for parameters, buffers and children,
// containers, hooks, copies, names that are only known at run time, and checkpoints of an older
// version.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/tenon.h"

using namespace tenon;

namespace {

// [block]
// Options are a struct outside of the class, all of them with defaults.
struct BlockOptions {
  bool bias = true;
  double dropout = 0.1;
};

class Block final : public nn::Layer {
 public:
  using Options = BlockOptions;
  explicit Block(std::int64_t size, const Options& options = {})
      : up(this, "up", size, 4 * size, {.bias = options.bias}),
        drop(this, "drop", {.p = options.dropout}),
        down(this, "down", 4 * size, size, {.bias = options.bias}) {}

  nn::Child<nn::Linear> up;
  nn::Child<nn::Dropout> drop;
  nn::Child<nn::Linear> down;
  nn::Parameter scale{this, "scale", ones({})};

 protected:
  Tensor forward(const Tensor& x) override { return x + scale * down(drop(relu(up(x)))); }
};
// [block]

// [network]
class Net final : public nn::Layer {
 public:
  Net(std::int64_t words, std::int64_t size, int depth)
      : table(this, "table", words, size), head(this, "head", size, words, {.bias = false}) {
    for (int i = 0; i < depth; ++i) blocks->append(nn::make<Block>(size, {.bias = false}));
    head->weight = table->weight;  // one tensor with two names
  }

  nn::Child<nn::Embedding> table;
  nn::Child<nn::ModuleList<Block>> blocks{this, "blocks"};
  nn::Child<nn::Linear> head;
  nn::Buffer steps{this, "steps", zeros({}, {.dtype = int64})};
  nn::Buffer last{this, "last", zeros({}), {.persistent = false}};

 protected:
  Tensor forward(const Tensor& tokens) override {
    Tensor x = table(tokens);
    for (Block& block : *blocks) x = block(x);
    return head(x);
  }
};
// [network]

void names() {
  // [names]
  Net net(10, 4, 2);
  std::cout << net << "\n";
  for (const auto& [key, value] : net.state_dict()) std::cout << key << "\n";
  std::cout << net.parameters().size() << " parameters\n";
  // [names]
}

void hooks() {
  // [hooks]
  Net net(10, 4, 2);
  net.eval();
  int calls = 0;
  nn::RemovableHandle handle = (*net.blocks)[0].register_forward_hook(
      [&calls](nn::Module& module, const auto& args, Tensor& result) {
        std::cout << module.type_name() << ": " << std::get<0>(args).shape() << " to "
                  << result.shape() << "\n";
        ++calls;
      });
  net(tensor({1, 2, 3}));
  handle.remove();
  net(tensor({1, 2, 3}));
  std::cout << "calls: " << calls << "\n";
  // [hooks]
}

void copies() {
  // [clone]
  const auto net = nn::make<Net>(10, 4, 2);
  const auto copy = nn::clone(*net);
  std::cout << std::boolalpha << "tied: " << copy->head->weight->is(copy->table->weight) << "\n";
  std::cout << "same tensor as before: " << copy->table->weight->is(net->table->weight) << "\n";
  // [clone]
}

void run_time_names() {
  // [dynamic]
  nn::Linear layer(2, 2, {.bias = false});
  layer.register_parameter("lora_a", nn::make_parameter(zeros({1, 2})));
  layer.register_buffer("seen", zeros({}), {.persistent = false});
  layer.register_module("gate", nn::make<nn::Linear>(2, 1, {.bias = false}));
  std::cout << "lora_a: " << layer.get_parameter("lora_a").shape() << "\n";
  layer.remove("lora_a");
  for (const auto& [key, value] : layer.state_dict()) std::cout << key << "\n";
  // [dynamic]
}

// [extra_state]
class Tagger final : public nn::Layer {
 public:
  nn::Child<nn::Linear> score{this, "score", 2, 2};
  std::vector<std::string> labels;

  std::optional<Value> get_extra_state() const override {
    return Value::list(std::vector<Value>(labels.begin(), labels.end()));
  }
  void set_extra_state(const Value& state) override {
    std::vector<std::string> fresh;
    for (const Value& label : state.items()) fresh.push_back(label.as_string());
    labels = std::move(fresh);
  }

 protected:
  Tensor forward(const Tensor& x) override { return score(x); }
};
// [extra_state]

void extra_state() {
  Tagger trained;
  trained.labels = {"noun", "verb"};
  Tagger fresh;
  fresh.load_state_dict(trained.state_dict());
  std::cout << "labels: " << fresh.labels[0] << ", " << fresh.labels[1] << "\n";
}

// [upgrade]
// Version 1 called its parameter "gamma", and had no "steps".
class Scale final : public nn::Layer {
 public:
  nn::Parameter weight{this, "weight", ones({2})};
  nn::Buffer steps{this, "steps", zeros({}, {.dtype = int64})};

  std::int64_t version() const override { return 2; }

 protected:
  Tensor forward(const Tensor& x) override { return x * weight; }
  void load_from_state_dict(nn::LoadContext& context) override {
    if (context.version().value_or(1) < 2) {
      const std::string& prefix = context.prefix();
      context.rename(prefix + "gamma", prefix + "weight");
      if (context.find(prefix + "steps") == nullptr) context.set(prefix + "steps", steps->clone());
    }
    context.load_own();
  }
};
// [upgrade]

void upgrade() {
  StateDict old;
  old.set("0.gamma", tensor({2.0, 3.0}));
  nn::Sequential net(nn::make<Scale>());
  std::cout << net.load_state_dict(old) << "\n";
  std::cout << net.state_dict().tensor("0.weight") << "\n";
}

}  // namespace

int main() {
  manual_seed(0);
  names();
  hooks();
  copies();
  run_time_names();
  extra_state();
  upgrade();
}
