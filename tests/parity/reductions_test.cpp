// Reductions, beside what PyTorch answered.
#include <gtest/gtest.h>

#include "parity/cases.h"
#include "parity/difference.h"

namespace tenon::parity {
namespace {

std::vector<Tensor> reduced(const Tensor& t, const Line& op) {
  const std::string& kind = op[1];
  const Dims dims = integers(op[2]);
  const bool keepdim = op[3] == "1";
  const auto asked = op[4] == "-" ? std::nullopt : std::optional(dtype(op[4]));
  const double extra = number(op[5]).to<double>();
  const std::optional<std::int64_t> one = dims.empty() ? std::nullopt : std::optional(dims[0]);
  const ReduceOptions options{.keepdim = keepdim, .dtype = asked};
  const VarOptions with_correction{.correction = extra, .keepdim = keepdim};
  if (kind == "sum") return {t.sum(dims, options)};
  if (kind == "mean") return {t.mean(dims, options)};
  if (kind == "prod") return {t.prod(dims, options)};
  if (kind == "amax") return {t.amax(dims, {.keepdim = keepdim})};
  if (kind == "amin") return {t.amin(dims, {.keepdim = keepdim})};
  if (kind == "max") return {t.max()};
  if (kind == "min") return {t.min()};
  if (kind == "argmax") return {t.argmax(one, {.keepdim = keepdim})};
  if (kind == "argmin") return {t.argmin(one, {.keepdim = keepdim})};
  if (kind == "any") return {t.any(dims, {.keepdim = keepdim})};
  if (kind == "all") return {t.all(dims, {.keepdim = keepdim})};
  if (kind == "count_nonzero") return {t.count_nonzero(dims)};
  if (kind == "var") return {t.var(dims, with_correction)};
  if (kind == "std") return {tenon::std(t, dims, with_correction)};
  if (kind == "norm") return {t.norm(extra, dims, {.keepdim = keepdim})};
  if (kind == "cumsum") return {t.cumsum(*one, {.dtype = asked})};
  if (kind == "cumprod") return {t.cumprod(*one, {.dtype = asked})};
  const auto [values, indices] =
      kind == "max_dim" ? t.max(*one, {.keepdim = keepdim}) : t.min(*one, {.keepdim = keepdim});
  return {values, indices};
}

// Sums are taken in another order, and in double: as far apart as the sizes that were summed allow.
double units_of(const std::string& kind) {
  const bool picks = kind.starts_with("a") || kind.starts_with("m") || kind == "count_nonzero";
  return picks && kind != "mean" ? 0 : 256;
}

TEST(ParityReductions, GiveWhatPyTorchGives) {
  for (const Case& one : read_cases("reductions")) {
    const Line& op = one.line("op");
    const Tensor t = make_tensor(one.line("tensor"));
    SCOPED_TRACE(one.where + " " + op[1] + " " + one.line("tensor")[1]);
    try {
      const std::vector<Tensor> ours = reduced(t, op);
      if (one.has("error")) {
        ADD_FAILURE() << "PyTorch refuses this: " << op[1] << " " << one.line("tensor")[1];
        continue;
      }
      const auto expected = one.all("result");
      double scale = 1;
      if (t.numel() != 0) {
        const Tensor sizes = abs(t.to(t.is_complex() ? complex128 : float64));
        const Tensor finite = sizes.index({isfinite(sizes)});
        if (finite.numel() != 0) scale = std::max(scale, finite.max().item<double>());
      }
      for (std::size_t i = 0; i < ours.size(); ++i) {
        EXPECT_EQ(ours[i].shape(), Shape(integers(expected[i][2])));
        EXPECT_EQ(info(ours[i].dtype()).name, expected[i][1]);
        if (info(ours[i].dtype()).name != expected[i][1]) continue;
        const bool loses_digits = op[1] == "sum" || op[1] == "mean" || op[1] == "cumsum";
        EXPECT_EQ(difference(ours[i], expected[i], units_of(op[1]), loses_digits ? scale : 0), "")
            << op[1] << " " << one.line("tensor")[1];
      }
    } catch (const InternalError& error) {
      FAIL() << error.what();
    } catch (const Error& error) {
      EXPECT_TRUE(one.has("error")) << "PyTorch does this; we say: " << error.what();
    }
  }
}

}  // namespace
}  // namespace tenon::parity
