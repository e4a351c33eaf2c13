// Goes on with a run of training that PyTorch began, and gives it back (tests/interop/training.py).
//
//   continue_training IN.pth OUT.pth
//
// IN has the model, the optimizer's class and state, the data of all steps, and how far the run is
// to go; OUT has model, optimizer and losses.
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace {

using namespace tenon;

// The network of tests/interop/training.py.
class Net final : public nn::Layer {
 public:
  nn::Child<nn::Conv2d> conv{this, "conv", 2, 6, 3, {.padding = 1, .bias = false}};
  nn::Child<nn::BatchNorm2d> bn{this, "bn", 6};
  nn::Child<nn::Linear> hidden{this, "hidden", 6 * 3 * 3, 16};
  nn::Child<nn::LayerNorm> ln{this, "ln", 16};
  nn::Child<nn::Linear> head{this, "head", 16, 4};

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor h = max_pool2d(relu(bn(conv(x))), 2).flatten(1);
    return head(gelu(ln(hidden(h))));
  }
};

std::unique_ptr<optim::Optimizer> make(const std::string& name, std::vector<Tensor> parameters) {
  if (name == "SGD") return std::make_unique<optim::SGD>(std::move(parameters));
  if (name == "Adam") return std::make_unique<optim::Adam>(std::move(parameters));
  if (name == "AdamW") return std::make_unique<optim::AdamW>(std::move(parameters));
  if (name == "Adagrad") return std::make_unique<optim::Adagrad>(std::move(parameters));
  if (name == "RMSprop") return std::make_unique<optim::RMSprop>(std::move(parameters));
  throw ValueError("there is no optimizer " + name);
}

void run(const std::string& in, const std::string& out) {
  const Value given = load(in);
  const auto at = [&](const char* key) { return *given.find(key); };
  Net net;
  net.load_state_dict(at("model"));
  const auto optimizer = make(at("class").as_string(), net.parameters());
  optimizer->load_state_dict(at("optimizer"));
  const Tensor x = at("x").as_tensor(), y = at("y").as_tensor();
  std::vector<Value> losses;
  for (std::int64_t step = at("from").as_int(); step < at("to").as_int(); ++step) {
    optimizer->zero_grad();
    const Tensor loss = cross_entropy(net(x.select(0, step)), y.select(0, step));
    loss.backward();
    nn::utils::clip_grad_norm_(net.parameters(), 5.0);
    optimizer->step();
    losses.emplace_back(loss.item<double>());
  }
  save(Value::dict({{"model", net.state_dict()},
                    {"optimizer", optimizer->state_dict()},
                    {"losses", Value::list(std::move(losses))}}),
       out);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw ValueError("usage: continue_training IN.pth OUT.pth");
    run(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
