// What layers and networks cost. bench/layers_peer.py has the same names; bench/layers_suite.py
// asks both and prints both.
//
//   layers_bench [--seconds S] [--threads N] [--cpu] NAME...
//                            nanoseconds a call of each, as JSON. --cpu: those of all threads of
//                            the process, for a machine that others use
//   layers_bench --list      the names
#include <tenon/tenon.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "networks/gpt2.h"
#include "networks/resnet.h"

namespace {

using namespace tenon;

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

using Work = std::function<void()>;

// A layer of one tensor, as it is used once it is trained.
template <class M>
Work run_unrecorded(const std::shared_ptr<M>& layer, const Tensor& x) {
  layer->eval();
  return [layer, x] {
    const NoGradScope unrecorded;
    (*layer)(x);
  };
}
template <class M, class... A>
Work inference(const Shape& input, A&&... arguments) {
  return run_unrecorded(nn::make<M>(std::forward<A>(arguments)...), randn(input));
}
// The same layer and input, converted to bfloat16.
template <class M, class... A>
Work bf16_inference(const Shape& input, A&&... arguments) {
  auto layer = nn::make<M>(std::forward<A>(arguments)...);
  layer->to(bfloat16);
  return run_unrecorded(layer, randn(input).to(bfloat16));
}
// As it is while it is trained: forwards, and backwards to its input too.
template <class M>
Work run_recorded(const std::shared_ptr<M>& layer, const Tensor& input) {
  const Tensor x = input.requires_grad_();
  const Tensor grad = randn_like((*layer)(x).detach());
  return [layer, x, grad] {
    layer->zero_grad();
    x.set_grad({});
    (*layer)(x).backward({.gradient = grad});
  };
}
template <class M, class... A>
Work training(const Shape& input, A&&... arguments) {
  return run_recorded(nn::make<M>(std::forward<A>(arguments)...), randn(input));
}
template <class M, class... A>
Work bf16_training(const Shape& input, A&&... arguments) {
  auto layer = nn::make<M>(std::forward<A>(arguments)...);
  layer->to(bfloat16);
  return run_recorded(layer, randn(input).to(bfloat16));
}

Work attention(bool causal, DType dtype = float32) {
  const Shape shape{4, 12, 256, 64};
  const Tensor q = randn(shape).to(dtype), k = randn(shape).to(dtype), v = randn(shape).to(dtype);
  return [=] {
    const NoGradScope unrecorded;
    scaled_dot_product_attention(q, k, v, {.is_causal = causal});
  };
}
// Twelve layers of 768, as GPT-2's smallest.
Work gpt(std::int64_t length, DType dtype = float32) {
  auto net = nn::make<gpt2::LMHeadModel>(gpt2::Config{});
  net->eval();
  net->to(dtype);
  const Tensor tokens = randint(0, 50257, {1, length});
  return [net, tokens] {
    const NoGradScope unrecorded;
    (*net)(tokens);
  };
}

Work bf16_resnet18(std::int64_t batch) {
  return bf16_inference<resnet::ResNet>({batch, 3, 224, 224}, std::array<int, 4>{2, 2, 2, 2},
                                        std::int64_t{1000});
}

// A step of training: forwards, backwards, and the optimizer's.
template <class Optimizer, class Net, class Loss>
Work training_step(const std::shared_ptr<Net>& net, const std::shared_ptr<Optimizer>& optimizer,
                   Loss loss) {
  return [net, optimizer, loss] {
    optimizer->zero_grad();
    loss(*net).backward();
    optimizer->step();
  };
}
Work resnet_step() {
  auto net = nn::make<resnet::ResNet>(std::array<int, 4>{2, 2, 2, 2}, std::int64_t{1000});
  auto optimizer = std::make_shared<optim::SGD>(net->parameters(),
                                                optim::SGDOptions{.lr = 1e-3, .momentum = 0.9});
  const Tensor x = randn({4, 3, 224, 224}), y = randint(0, 1000, {4});
  return training_step(net, optimizer,
                       [x, y](resnet::ResNet& n) { return cross_entropy(n(x), y); });
}
Work gpt_step() {
  auto net = nn::make<gpt2::LMHeadModel>(gpt2::Config{});
  // As GPT-2 begins. With larger ones most probabilities are denormal numbers, and their speed is
  // measured.
  for (const Tensor& parameter : net->parameters()) {
    if (parameter.dim() > 1) nn::init::normal_(parameter, {.std = 0.02});
  }
  auto optimizer =
      std::make_shared<optim::AdamW>(net->parameters(), optim::AdamWOptions{.lr = 1e-4});
  const Tensor tokens = randint(0, 50257, {1, 128}), next = randint(0, 50257, {128});
  return training_step(net, optimizer, [tokens, next](gpt2::LMHeadModel& n) {
    return cross_entropy(n(tokens).view({128, -1}), next);
  });
}

// 50 million parameters in 200 tensors.
constexpr int kTensors = 200;
constexpr std::int64_t kElements = 250'000;
std::vector<Tensor> many_parameters() {
  std::vector<Tensor> all;
  for (int i = 0; i < kTensors; ++i) {
    all.push_back(nn::make_parameter(randn({kElements})));
    all.back().set_grad(randn({kElements}));
  }
  return all;
}
template <class Optimizer, class Options>
Work optimizer_step(const Options& options) {
  auto optimizer = std::make_shared<Optimizer>(many_parameters(), options);
  return [optimizer] { optimizer->step(); };
}
// What memory allows: the numbers that a step of Adam reads and writes, with next to no arithmetic.
Work adam_traffic() {
  constexpr std::size_t kAll = static_cast<std::size_t>(kTensors) * kElements;
  auto memory = std::make_shared<std::array<std::vector<float>, 4>>();
  for (auto& part : *memory) part.assign(kAll, 1);
  const auto pass = [memory](std::size_t first, std::size_t last) {
    auto& [p, m, v, g] = *memory;
    for (std::size_t i = first; i < last; ++i) {
      m[i] += g[i];
      v[i] -= g[i];
      p[i] += m[i];
    }
  };
  return [pass] {
    const auto threads = static_cast<std::size_t>(get_num_threads());
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < threads; ++t)
      others.emplace_back(pass, kAll * t / threads, kAll * (t + 1) / threads);
    pass(0, kAll / threads);
  };
}

struct Measurement {
  const char* name;
  std::function<Work()> make;
};
// Others go here, and into bench/layers_peer.py and bench/layers_suite.py.
const std::vector<Measurement>& measurements() {
  using nn::Conv2d, nn::ConvOptions, nn::Linear;
  static const std::vector<Measurement> all{
      {"linear_1", [] { return inference<Linear>({1, 1024}, 1024, 1024); }},
      {"linear_64", [] { return inference<Linear>({64, 1024}, 1024, 1024); }},
      {"linear_512", [] { return inference<Linear>({512, 1024}, 1024, 1024); }},
      {"linear_512_wide", [] { return inference<Linear>({512, 768}, 768, 3072); }},
      {"conv_3x3",
       [] { return inference<Conv2d>({4, 64, 56, 56}, 64, 64, 3, ConvOptions{.padding = 1}); }},
      {"conv_7x7",
       [] {
         return inference<Conv2d>({4, 3, 224, 224}, 3, 64, 7,
                                  ConvOptions{.stride = 2, .padding = 3});
       }},
      {"conv_1x1", [] { return inference<Conv2d>({4, 64, 56, 56}, 64, 256, 1); }},
      {"conv_3x3_batch_1",
       [] { return inference<Conv2d>({1, 64, 56, 56}, 64, 64, 3, ConvOptions{.padding = 1}); }},
      {"conv_3x3_deep_batch_1",
       [] { return inference<Conv2d>({1, 512, 7, 7}, 512, 512, 3, ConvOptions{.padding = 1}); }},
      {"conv_depthwise",
       [] {
         return inference<Conv2d>({4, 96, 56, 56}, 96, 96, 3,
                                  ConvOptions{.padding = 1, .groups = 96});
       }},
      {"conv_3x3_train",
       [] { return training<Conv2d>({4, 64, 56, 56}, 64, 64, 3, ConvOptions{.padding = 1}); }},
      {"linear_512_train", [] { return training<Linear>({512, 1024}, 1024, 1024); }},
      {"layer_norm", [] { return inference<nn::LayerNorm>({4096, 1024}, 1024); }},
      {"attention_causal", [] { return attention(true); }},
      {"attention", [] { return attention(false); }},
      {"resnet18",
       [] {
         return inference<resnet::ResNet>({1, 3, 224, 224}, std::array<int, 4>{2, 2, 2, 2},
                                          std::int64_t{1000});
       }},
      {"resnet18_batch_4",
       [] {
         return inference<resnet::ResNet>({4, 3, 224, 224}, std::array<int, 4>{2, 2, 2, 2},
                                          std::int64_t{1000});
       }},
      {"gpt_128", [] { return gpt(128); }},
      {"gpt_1", [] { return gpt(1); }},
      {"bf16_linear_1", [] { return bf16_inference<Linear>({1, 1024}, 1024, 1024); }},
      {"bf16_linear_64", [] { return bf16_inference<Linear>({64, 1024}, 1024, 1024); }},
      {"bf16_linear_512", [] { return bf16_inference<Linear>({512, 1024}, 1024, 1024); }},
      {"bf16_linear_512_wide", [] { return bf16_inference<Linear>({512, 768}, 768, 3072); }},
      {"bf16_conv_3x3",
       [] {
         return bf16_inference<Conv2d>({4, 64, 56, 56}, 64, 64, 3, ConvOptions{.padding = 1});
       }},
      {"bf16_conv_7x7",
       [] {
         return bf16_inference<Conv2d>({4, 3, 224, 224}, 3, 64, 7,
                                       ConvOptions{.stride = 2, .padding = 3});
       }},
      {"bf16_conv_1x1", [] { return bf16_inference<Conv2d>({4, 64, 56, 56}, 64, 256, 1); }},
      {"bf16_layer_norm", [] { return bf16_inference<nn::LayerNorm>({4096, 1024}, 1024); }},
      {"bf16_attention_causal", [] { return attention(true, bfloat16); }},
      {"bf16_resnet18", [] { return bf16_resnet18(1); }},
      {"bf16_resnet18_batch_4", [] { return bf16_resnet18(4); }},
      {"bf16_gpt", [] { return gpt(128, bfloat16); }},
      {"bf16_gpt_1", [] { return gpt(1, bfloat16); }},
      {"bf16_conv_3x3_train",
       [] { return bf16_training<Conv2d>({4, 64, 56, 56}, 64, 64, 3, ConvOptions{.padding = 1}); }},
      {"bf16_linear_512_train", [] { return bf16_training<Linear>({512, 1024}, 1024, 1024); }},
      {"train_resnet18", resnet_step},
      {"train_gpt", gpt_step},
      {"step_sgd",
       [] { return optimizer_step<optim::SGD>(optim::SGDOptions{.lr = 1e-3, .momentum = 0.9}); }},
      {"step_adamw", [] { return optimizer_step<optim::AdamW>(optim::AdamWOptions{}); }},
      {"step_adamw_fused", [] { return optimizer_step<optim::AdamW>(optim::AdamWOptions{}); }},
      {"adam_traffic", adam_traffic},
  };
  return all;
}

const Measurement* find(std::string_view name) {
  for (const Measurement& one : measurements()) {
    if (name == one.name) return &one;
  }
  return nullptr;
}

// The median of as many calls as fit, and of five at least. The first three do not count.
double nanoseconds_a_call(const Work& work, double seconds, clockid_t clock) {
  for (int i = 0; i < 3; ++i) work();
  const double begin = seconds_of(CLOCK_MONOTONIC);
  std::vector<double> times;
  do {
    const double from = seconds_of(clock);
    work();
    times.push_back(seconds_of(clock) - from);
  } while (times.size() < 5 || seconds_of(CLOCK_MONOTONIC) - begin < seconds);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1e9;
}

int usage(const char* problem) {
  std::fprintf(stderr,
               "%s\nusage: layers_bench [--seconds S] [--threads N] [--cpu] NAME... | --list\n",
               problem);
  return 2;
}

int run(std::span<char*> arguments) {
  double seconds = 0.3;
  clockid_t clock = CLOCK_MONOTONIC;
  std::vector<const Measurement*> asked;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    const bool last = i + 1 == arguments.size();
    if (word == "--list") {
      for (const Measurement& one : measurements()) std::puts(one.name);
      return 0;
    }
    if (word == "--cpu") {
      clock = CLOCK_PROCESS_CPUTIME_ID;
    } else if (word == "--seconds" && !last) {
      seconds = std::atof(arguments[++i]);
    } else if (word == "--threads" && !last) {
      set_num_threads(std::atoi(arguments[++i]));
    } else if (const Measurement* one = find(word)) {
      asked.push_back(one);
    } else {
      return usage(("there is no measurement " + std::string(word)).c_str());
    }
  }
  if (asked.empty()) return usage("which measurements?");
  const char* between = "{";
  for (const Measurement* one : asked) {
    std::printf("%s\"%s\": %.2f", between, one->name,
                nanoseconds_a_call(one->make(), seconds, clock));
    between = ", ";
  }
  std::puts("}");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
