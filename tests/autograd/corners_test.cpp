// Gradients where formulas have corners: ties, bounds, zeros, NaNs. cases/corners.cases is
// what PyTorch says (tests/record/corners.py), node names included.
#include <cmath>
#include <sstream>

#include "support/matchers.h"
#include "support/recorded.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr double kNan = NAN;

Tensor L(std::initializer_list<double> values) {
  std::vector<double> list(values);
  const Tensor made = empty({static_cast<std::int64_t>(list.size())}, {.dtype = float64});
  std::copy(list.begin(), list.end(), made.data<double>());
  return made.requires_grad_();
}

class Corners : public testing::Test {
 protected:
  std::vector<recorded::Line> lines;

  void note(const char* name, const Tensor& y, const std::vector<Tensor>& of) {
    lines.push_back({name, std::string(y.grad_fn()->name())});
    for (const Tensor& grad : autograd::grad({y.sum()}, of, {.allow_unused = true})) {
      std::ostringstream text;
      if (!grad.defined()) text << "-";
      const Tensor flat = grad.defined() ? grad.reshape({-1}) : zeros({0});
      for (std::int64_t i = 0; i < flat.numel(); ++i)
        text << (i == 0 ? "" : ",") << flat[i].item<double>();
      lines.back().push_back(text.str());
    }
  }
};

TEST_F(Corners, AreThoseOfPyTorch) {
  {
    auto a = L({1.0, 2.0, 2.0, 0.0});
    auto b = L({1.0, 3.0, 1.0, 0.0});
    note("maximum", maximum(a, b), {a, b});
    note("minimum", minimum(a, b), {a, b});
    note("fmax", fmax(a, b), {a, b});
    note("fmin", fmin(a, b), {a, b});
    note("amax", a.amax({0}), {a});
    note("max", a.max(), {a});
    note("maxdim", std::get<0>(a.max(0)), {a});
    note("norm2", norm(a, 2), {a});
    note("norm1", norm(a, 1), {a});
    note("norm.5", norm(a, 0.5), {a});
    note("norm3", norm(a, 3), {a});
    note("norminf", norm(a, INFINITY), {a});
    note("norm0", norm(a, 0), {a});
    note("norm1.5", norm(a, 1.5), {a});
    auto z = L({0.0, 0.0});
    note("norm2z", norm(z, 2), {z});
    note("norm1.5z", norm(z, 1.5), {z});
    note("norm3z", norm(z, 3), {z});
    note("std", tenon::std(a), {a});
    note("stdz", tenon::std(z), {z});
    note("var", a.var(), {a});
    auto lo = L({1.5, 0.0, 3.0, 0.0}), hi = L({3.0, 1.0, 2.0, 1.0});
    note("clamp", clamp(a, {.min = lo, .max = hi}), {a, lo, hi});
    note("clampn", clamp(a, {.min = 1.0, .max = 2.0}), {a});
    note("clampmin", clamp(a, {.min = lo}), {a, lo});
    note("pow", pow(a, b), {a, b});
    note("pow0", a.pow(0), {a});
    note("pow2", a.pow(2), {a});
    note("pow.5", a.pow(0.5), {a});
    note("rpow", pow(2, b), {b});
    note("prod", a.prod(), {a});
    note("proddim", a.reshape({2, 2}).prod({1}), {a});
    note("cumprod", a.cumprod(0), {a});
    note("xlogy", xlogy(a, b + 1), {a, b});
    note("copysign", copysign(a, b), {a, b});
    note("atan2", atan2(a + 1, b), {a, b});
    note("hypot", hypot(a, b + 1), {a, b});
    note("remainder", remainder(a, b + 2), {a, b});
    note("fmod", fmod(a, b + 2), {a, b});
    note("abs", abs(a), {a});
    note("sqrt", sqrt(a), {a});
    note("relu", relu(a - 1), {a});
    note("sign", sign(a), {a});
    note("topk", std::get<0>(topk(a, 2)), {a});
    note("sort", std::get<0>(sort(a)), {a});
    note("logaddexp", logaddexp(a, b), {a, b});
    note("lerp", lerp(a, b, 0.3), {a, b});
    note("addcdiv", addcdiv(a, b, b + 1, {.value = 2}), {a, b});
    note("expand", a.expand({3, 4}), {a});
    note("unfold", a.unfold(0, 2, 1), {a});
    note("asstr", a.as_strided({2, 3}, {1, 1}, 0), {a});
    note("diag", a.reshape({2, 2}).diagonal(), {a});
    note("embedding", embedding(tensor({0, 1, 1}), a.reshape({2, 2})), {a});
    note("linear", linear(a.reshape({1, 4}), b.reshape({1, 4})), {a, b});
    note("mean", a.mean(), {a});
    note("cumsum", a.cumsum(0), {a});
    note("index", a.index({tensor({0, 0, 3})}), {a});
    note("take", take(a, tensor({0, -1})), {a});
    note("div", a / (b + 1), {a, b});
    note("truncdiv", div(a, b + 1, {.rounding_mode = "trunc"}), {a, b});
    note("where", where(a > 1, a, b), {a, b});
    note("cat", cat({a, b}), {a, b});
    note("stack", stack({a, b}), {a, b});
    note("dot", dot(a, b), {a, b});
    note("copy", (a * 1).copy_(b), {a, b});
    note("zero", (a * 1).zero_(), {a});
    note("mul_", (a * 1).mul_(b), {a, b});
    note("exp_", (a * 1).exp_(), {a});
    note("sin_", (a * 1).sin_(), {a});
  }
  {
    auto a = L({0., 1., 1.5, 2., 3., kNan});
    auto m = full({6}, 1.0, {.dtype = float64}).requires_grad_(),
         M = full({6}, 2.0, {.dtype = float64}).requires_grad_();
    note("min1", clamp(a, {.min = 1.0}), {a});
    note("max2", clamp(a, {.max = 2.0}), {a});
    note("12", clamp(a, {.min = 1.0, .max = 2.0}), {a});
    note("21", clamp(a, {.min = 2.0, .max = 1.0}), {a});
    note("tmin", clamp(a, {.min = m}), {a, m});
    note("tmax", clamp(a, {.max = M}), {a, M});
    note("t12", clamp(a, {.min = m, .max = M}), {a, m, M});
    note("t21", clamp(a, {.min = M, .max = m}), {a, M, m});
    auto e = full({6}, 1.0, {.dtype = float64}).requires_grad_(),
         f = full({6}, 1.0, {.dtype = float64}).requires_grad_();
    note("t11", clamp(a, {.min = e, .max = f}), {a, e, f});
    auto x = L({kNan, kNan, 1., 2., 1.}), y = L({kNan, 1., kNan, 2., 0.});
    note("fmax", fmax(x, y), {x, y});
    note("fmin", fmin(x, y), {x, y});
    note("maximum", maximum(x, y), {x, y});
    note("minimum", minimum(x, y), {x, y});
  }

  {
    auto a = L({1.0, kNan, 2.0});
    note("naninf", norm(a, INFINITY), {a});
    note("nanmax", a.max(), {a});
  }
  {
    auto a = L({0.0, 1.0});
    auto b = L({2.0, 3.0});
    note("xlogy0", xlogy(a, b), {a, b});
    note("atan20", atan2(a * 0, b * 0), {a, b});
  }
  {
    auto a = L({1.0, 2.0});
    auto b = L({0.1, 0.3});
    note("border", remainder(a, b), {a, b});
  }

  const auto expected = recorded::rows("autograd/cases/corners", 80);
  ASSERT_EQ(lines.size(), expected.size());
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i], expected[i]);
}

}  // namespace
}  // namespace tenon
