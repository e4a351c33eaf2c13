// The normalizing functions beside what PyTorch gave, over many shapes and options.
#include "support/gradcheck.h"
#include "support/recorded_input.h"

namespace tenon {
namespace {

// Sums are of up to some hundred elements.
void expect_sum(const Tensor& tensor, const std::string& expected, DType dtype,
                const std::string& line) {
  if (expected == "-") return;
  ASSERT_TRUE(tensor.defined()) << line;
  const double sum = std::stod(expected);
  const double tolerance = dtype == float64 ? 1e-8 : 1e-4;
  EXPECT_NEAR(recorded_sum(tensor), sum, tolerance * (1 + std::abs(sum))) << line;
}

TEST(Normalization, GivesWhatPyTorchGave) {
  const auto cases = recorded::rows("ops/cases/norms", 100);
  EXPECT_GT(cases.size(), 100);
  for (const auto& words : cases) {
    const std::string line = recorded::joined(words);
    ASSERT_EQ(words.size(), 15) << line;
    const std::string& function = words[0];
    const DType dtype = recorded::dtype(words[8]);
    const Tensor x = recorded_input(recorded::sizes(words[1]), dtype, 0.25).requires_grad_();
    const std::int64_t argument = std::stoll(words[2]);
    const double momentum = std::stod(words[6]), eps = std::stod(words[7]);
    Dims own = {x.size(1)};
    if (function == "layer_norm" || function == "rms_norm") {
      own = Dims();
      for (std::int64_t d = argument; d < x.dim(); ++d) own.push_back(x.size(d));
    }
    const auto given = [&](const std::string& flag, double shift) {
      return flag == "1" ? recorded_input(own, dtype, shift) : Tensor();
    };
    const Tensor w = given(words[3], 1), b = given(words[4], 2), mean = given(words[5], 0.1);
    const Tensor var = words[5] == "1" ? given("1", 0.3).abs() + 0.5 : Tensor();
    if (w.defined()) w.requires_grad_();
    if (b.defined()) b.requires_grad_();
    Tensor y;
    if (function == "layer_norm")
      y = layer_norm(x, own, {.weight = w, .bias = b, .eps = eps});
    else if (function == "rms_norm")
      y = rms_norm(x, own, {.weight = w, .eps = eps});
    else if (function == "group_norm")
      y = group_norm(x, argument, {.weight = w, .bias = b, .eps = eps});
    else if (function == "batch_norm")
      y = batch_norm(
          x, mean, var,
          {.weight = w, .bias = b, .training = argument == 1, .momentum = momentum, .eps = eps});
    else
      y = instance_norm(x, {.running_mean = mean,
                            .running_var = var,
                            .weight = w,
                            .bias = b,
                            .use_input_stats = argument == 1,
                            .momentum = momentum,
                            .eps = eps});
    y.backward({.gradient = recorded_input(y.shape(), dtype, 0.5)});
    expect_sum(y, words[9], dtype, line);
    expect_sum(x.grad(), words[10], dtype, line);
    expect_sum(w.defined() ? w.grad() : w, words[11], dtype, line);
    expect_sum(b.defined() ? b.grad() : b, words[12], dtype, line);
    expect_sum(mean, words[13], dtype, line);
    expect_sum(var, words[14], dtype, line);
  }
}

}  // namespace
}  // namespace tenon
