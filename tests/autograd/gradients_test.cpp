// Gradients of views, copies, reductions, products, and what is picked and joined.
#include "support/gradcheck.h"
#include "support/matchers.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

Tensor random(const Shape& shape, std::uint64_t seed = 1) {
  Generator generator;
  generator.manual_seed(seed);
  return empty(shape, {.dtype = float64}).uniform_(-2, 2, generator).requires_grad_();
}

void expect_of(const Shape& shape, const std::function<Tensor(const Tensor&)>& f) {
  expect_gradients([&](const Tensors& x) { return f(x[0]); }, {random(shape)});
  // Over other strides.
  if (shape.size() < 2) return;
  Shape turned;
  Dims order;
  for (std::size_t d = shape.size(); d-- > 0;) {
    turned.push_back(shape[d]);
    order.push_back(static_cast<std::int64_t>(d));
  }
  const Tensor strided = random(turned, 2).detach().permute(order).requires_grad_();
  expect_gradients([&](const Tensors& x) { return f(x[0]); }, {strided});
}

TEST(GradientOf, Views) {
  expect_of({2, 6}, [](const Tensor& x) { return x.reshape({3, 4}); });
  expect_of({2, 6}, [](const Tensor& x) { return x.flatten() * 2; });
  expect_of({4, 3}, [](const Tensor& x) { return x.slice(0, 1, 4, 2); });
  expect_of({4, 3}, [](const Tensor& x) { return x.narrow(1, 1, 2); });
  expect_of({4, 3}, [](const Tensor& x) { return x.select(1, 2) * x[0][1]; });
  expect_of({4, 3}, [](const Tensor& x) { return x.transpose(0, 1); });
  expect_of({4, 3}, [](const Tensor& x) { return x.t() + 1; });
  expect_of({2, 3, 4}, [](const Tensor& x) { return x.permute({2, 0, -2}); });
  expect_of({1, 3}, [](const Tensor& x) { return x.expand({2, 4, 3}); });
  expect_of({1, 3, 1}, [](const Tensor& x) { return x.squeeze(); });
  expect_of({1, 3, 1}, [](const Tensor& x) { return x.squeeze({0}) + x.squeeze({-1, 0}).sum(); });
  expect_of({3}, [](const Tensor& x) { return x.unsqueeze(1); });
  expect_of({3, 4}, [](const Tensor& x) { return x.diagonal({.offset = 1}); });
  expect_of({7}, [](const Tensor& x) { return x.unfold(0, 3, 2); });
  expect_of({7}, [](const Tensor& x) { return x.unfold(0, 3, 4); });
  expect_of({2, 5}, [](const Tensor& x) { return x.split(2, 1)[1]; });
  expect_of({2, 5}, [](const Tensor& x) {
    const auto parts = x.split(Dims{1, 4}, 1);
    return parts[0] * parts[1];
  });
  expect_of({3, 2}, [](const Tensor& x) { return x.unbind(1)[1] * x.unbind(0)[0][0]; });
}

TEST(GradientOf, AsStrided) {
  expect_of({3, 4}, [](const Tensor& x) { return x.as_strided({2, 2}, {1, 2}, 1); });
  // Several elements of the view are one.
  expect_of({3, 4}, [](const Tensor& x) { return x.as_strided({3, 3}, {1, 1}, 2); });
  // A part of something larger.
  expect_gradients(
      [](const Tensors& x) { return x[0].narrow(0, 1, 2).as_strided({2, 2}, {1, 4}, 5); },
      {random({3, 4})});
}

TEST(GradientOf, Copies) {
  expect_of({2, 3}, [](const Tensor& x) { return x.clone(); });
  expect_of({2, 3}, [](const Tensor& x) { return x.contiguous(); });
  expect_gradients(
      [](const Tensors& x) {
        const Tensor y = x[0] * 1;
        y.copy_(x[1]);
        return y * x[0];
      },
      {random({2, 3}, 1), random({3}, 2)});
  const Tensor narrow = ones({2}, {.dtype = float32}).requires_grad_();
  narrow.to(float64).sum().backward();
  EXPECT_EQ(narrow.grad().dtype(), float32);
}

TEST(GradientOf, Fills) {
  const Tensor x = random({3});
  for (const auto& f : std::vector<std::function<void(const Tensor&)>>{
           [](const Tensor& y) { y.zero_(); }, [](const Tensor& y) { y.fill_(2); },
           [](const Tensor& y) { y.uniform_(); }, [](const Tensor& y) { y.normal_(); }}) {
    const Tensor y = x * 1;
    f(y);
    EXPECT_TRUE(equal(autograd::grad({y.sum()}, {x})[0], zeros({3}, {.dtype = float64})));
  }
  expect_gradients(
      [](const Tensors& a) {
        const Tensor y = a[0] * 1;
        y.fill_(a[1]);
        return y;
      },
      {random({3}), random({})});
}

TEST(GradientOf, SumsAndMeans) {
  expect_of({2, 3}, [](const Tensor& x) { return x.sum(); });
  expect_of({2, 3}, [](const Tensor& x) { return x.sum({1}); });
  expect_of({2, 3}, [](const Tensor& x) { return x.sum({-1, 0}, {.keepdim = true}); });
  expect_of({2, 3}, [](const Tensor& x) { return x.mean(); });
  expect_of({2, 3, 2}, [](const Tensor& x) { return x.mean({0, 2}); });
  expect_of({}, [](const Tensor& x) { return x.sum() + x.mean(); });
  const Tensor half = ones({3}, {.dtype = float16}).requires_grad_();
  half.sum({}, {.dtype = float32}).backward();
  EXPECT_EQ(half.grad().dtype(), float16);
}

TEST(GradientOf, Products) {
  expect_of({2, 3}, [](const Tensor& x) { return x.prod(); });
  expect_of({2, 3}, [](const Tensor& x) { return x.prod({1}); });
  expect_of({2, 3}, [](const Tensor& x) { return x.prod({0}, {.keepdim = true}); });
  // With zeros among the factors.
  const Tensor zeros_in =
      tensor({{0.0, 2.0, 3.0}, {0.0, 0.0, 5.0}, {1.0, 2.0, 4.0}}, {.dtype = float64})
          .requires_grad_();
  expect_gradients([](const Tensors& x) { return x[0].prod({1}); }, {zeros_in});
  expect_gradients([](const Tensors& x) { return x[0].prod({0}); }, {zeros_in});
  expect_of({2, 4}, [](const Tensor& x) { return x.cumprod(1); });
  expect_gradient([](const Tensors& x) { return x[0].cumprod(1); }, {zeros_in});
}

TEST(GradientOf, Extremes) {
  expect_of({2, 3}, [](const Tensor& x) { return x.amax({1}); });
  expect_of({2, 3}, [](const Tensor& x) { return x.amin({0}, {.keepdim = true}); });
  expect_of({2, 3}, [](const Tensor& x) { return x.max() * x.min(); });
  expect_of({2, 3}, [](const Tensor& x) { return std::get<0>(x.max(1)); });
  expect_of({2, 3}, [](const Tensor& x) { return std::get<0>(x.min(0, {.keepdim = true})); });
  const Tensor same = ones({4}).requires_grad_();
  same.max().backward();
  EXPECT_TRUE(equal(same.grad(), full({4}, 0.25)));
}

TEST(GradientOf, VariancesAndNorms) {
  expect_of({3, 4}, [](const Tensor& x) { return x.var(); });
  expect_of({3, 4}, [](const Tensor& x) { return x.var({1}, {.correction = 0}); });
  expect_of({3, 4}, [](const Tensor& x) { return tenon::std(x, {0}); });
  for (const double p : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, double{INFINITY}}) {
    SCOPED_TRACE(p);
    expect_gradient([&](const Tensors& x) { return norm(x[0], p); }, {random({3, 4})});
    expect_gradient([&](const Tensors& x) { return norm(x[0], p, {1}); }, {random({3, 4})});
  }
}

TEST(GradientOf, CumulativeSums) {
  expect_of({3, 4}, [](const Tensor& x) { return x.cumsum(1); });
  expect_of({3, 4}, [](const Tensor& x) { return x.cumsum(0); });
  expect_of({}, [](const Tensor& x) { return x.cumsum(0) + x.cumprod(0); });
}

TEST(GradientOf, Multiplications) {
  const auto two = [](Tensor (*f)(const Tensor&, const Tensor&), const Shape& a, const Shape& b) {
    expect_gradients([f](const Tensors& x) { return f(x[0], x[1]); }, {random(a, 1), random(b, 2)});
    expect_gradients([f](const Tensors& x) { return f(x[0], x[1]); },
                     {random(a, 1).detach(), random(b, 2)});
  };
  two(dot, {3}, {3});
  two(mv, {2, 3}, {3});
  two(mm, {2, 3}, {3, 4});
  two(bmm, {2, 2, 3}, {2, 3, 2});
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{3}, {3}},
                                                                 {{2, 3}, {3}},
                                                                 {{3}, {3, 2}},
                                                                 {{2, 2, 3}, {3, 2}},
                                                                 {{2, 1, 2, 3}, {2, 3, 2}}})
    two(matmul, a, b);
  expect_gradients(
      [](const Tensors& x) { return addmm(x[0], x[1], x[2], {.beta = 0.5, .alpha = 2}); },
      {random({4}, 1), random({2, 3}, 2), random({3, 4}, 3)});
}

TEST(GradientOf, WhatLayersCalculate) {
  expect_gradients([](const Tensors& x) { return linear(x[0], x[1], x[2]); },
                   {random({2, 3, 4}, 1), random({5, 4}, 2), random({5}, 3)});
  expect_gradients([](const Tensors& x) { return bilinear(x[0], x[1], x[2], x[3]); },
                   {random({2, 3}, 1), random({2, 2}, 2), random({4, 3, 2}, 3), random({4}, 4)});
  const Tensor indices = tensor({{0, 2}, {2, 1}});
  expect_gradients([&](const Tensors& x) { return embedding(indices, x[0]); }, {random({3, 2})});
}

TEST(GradientOf, ScaledAndFusedArithmetic) {
  expect_gradients(
      [](const Tensors& x) {
        return add(x[0], x[1], {.alpha = 3}) * sub(x[0], x[1], {.alpha = 2});
      },
      {random({2, 3}, 1), random({3}, 2)});
  expect_gradients([](const Tensors& x) { return lerp(x[0], x[1], x[2]); },
                   {random({2, 3}, 1), random({3}, 2), random({2, 1}, 3)});
  expect_gradients([](const Tensors& x) { return addcmul(x[0], x[1], x[2], {.value = 2}); },
                   {random({2, 3}, 1), random({3}, 2), random({2, 1}, 3)});
  expect_gradients(
      [](const Tensors& x) { return addcdiv(x[0], x[1], x[2] * x[2] + 1, {.value = 2}); },
      {random({2, 3}, 1), random({3}, 2), random({2, 1}, 3)});
}

TEST(GradientOf, Selections) {
  const Tensor mask = tensor({{true, false, true}, {false, false, true}});
  expect_gradients([&](const Tensors& x) { return where(mask, x[0], x[1]); },
                   {random({2, 3}, 1), random({3}, 2)});
  expect_gradients([&](const Tensors& x) { return masked_fill(x[0], mask, x[1]); },
                   {random({2, 3}, 1), random({}, 2)});
  expect_of({2, 3}, [&](const Tensor& x) { return masked_fill(x, mask, 7); });
  expect_of({3, 3}, [](const Tensor& x) { return clamp(x, {.min = -0.5, .max = 1.0}); });
  expect_gradients([](const Tensors& x) { return clamp(x[0], {.min = x[1], .max = x[2]}); },
                   {random({3, 4}, 1), random({3, 1}, 2), random({4}, 3)});
}

TEST(GradientOf, WhatIsPicked) {
  const Tensor index = tensor({{0, 2, 1}, {2, 2, 0}});
  const Tensor rows = tensor({2, 0, 2});
  expect_of({3, 3}, [&](const Tensor& x) { return gather(x, 0, index); });
  expect_of({3, 3}, [&](const Tensor& x) { return gather(x, 1, index); });
  expect_of({3, 3}, [&](const Tensor& x) { return index_select(x, 1, rows); });
  expect_of({3, 3}, [&](const Tensor& x) { return take(x, tensor({{0, -1}, {4, 4}})); });
  expect_of({3, 3}, [&](const Tensor& x) { return take_along_dim(x, index, 0); });
  expect_of({3, 3}, [&](const Tensor& x) { return x.index({rows}); });
  expect_of({3, 3}, [&](const Tensor& x) { return x.index({Slice(), rows}) * 2; });
  expect_of({3, 3}, [&](const Tensor& x) { return x.index({rows, tensor({0, 1, 1})}); });
  const Tensor mask = tensor({{true, false, true}, {false, false, true}, {true, true, false}});
  expect_of({3, 3}, [&](const Tensor& x) { return masked_select(x, mask); });
}

TEST(GradientOf, WhatIsWrittenToPlaces) {
  const Tensor index = tensor({{0, 1, 2}, {2, 0, 1}});
  const Tensor rows = tensor({2, 0});
  expect_gradients([&](const Tensors& x) { return scatter(x[0], 0, index, x[1]); },
                   {random({3, 3}, 1), random({3, 3}, 2)});
  expect_of({3, 3}, [&](const Tensor& x) { return scatter(x, 0, index, 5); });
  expect_gradients([&](const Tensors& x) { return scatter_add(x[0], 1, index, x[1]); },
                   {random({3, 3}, 1), random({2, 3}, 2)});
  expect_gradients([&](const Tensors& x) { return index_add(x[0], 0, rows, x[1], {.alpha = 2}); },
                   {random({3, 3}, 1), random({2, 3}, 2)});
  expect_gradients([&](const Tensors& x) { return index_copy(x[0], 0, rows, x[1]); },
                   {random({3, 3}, 1), random({2, 3}, 2)});
  expect_gradients([&](const Tensors& x) { return index_fill(x[0], 0, rows, x[1]); },
                   {random({3, 3}, 1), random({}, 2)});
  expect_gradients(
      [&](const Tensors& x) {
        const Tensor y = x[0] * 1;
        y.index_put_({rows}, x[1]);
        return y;
      },
      {random({3, 3}, 1), random({3}, 2)});
}

TEST(GradientOf, OrderedTensors) {
  expect_of({2, 4}, [](const Tensor& x) { return std::get<0>(sort(x, {.dim = 1})); });
  expect_of({2, 4},
            [](const Tensor& x) { return std::get<0>(sort(x, {.dim = 0, .descending = true})); });
  expect_of({2, 4}, [](const Tensor& x) { return std::get<0>(topk(x, 2)); });
}

TEST(GradientOf, JoinedTensors) {
  expect_gradients([](const Tensors& x) { return cat({x[0], x[1], x[0]}, 1); },
                   {random({2, 3}, 1), random({2, 1}, 2)});
  expect_gradients([](const Tensors& x) { return stack({x[0], x[1]}, 1); },
                   {random({2, 3}, 1), random({2, 3}, 2)});
  // One that is empty, and one that is not asked about.
  const Tensor none = empty({0}, {.dtype = float64}).requires_grad_();
  const Tensor x = random({2}), fixed = random({2}, 2).detach();
  cat({none, fixed, x * 2}).sum().backward();
  EXPECT_EQ(none.grad().numel(), 0);
  EXPECT_TRUE(equal(x.grad(), full({2}, 2.0, {.dtype = float64})));
}

// Beside PyTorch 2.14: numbers and tensors as bounds differ where an element is one, or is no
// number.
TEST(GradientOf, ClampAtItsBounds) {
  const auto grads = [](const Tensor& y, const std::vector<Tensor>& of) {
    std::vector<std::vector<double>> all;
    for (const Tensor& grad : autograd::grad({y.sum()}, of)) {
      all.emplace_back();
      for (std::int64_t i = 0; i < grad.numel(); ++i) all.back().push_back(grad[i].item<double>());
    }
    return all;
  };
  using All = std::vector<std::vector<double>>;
  const Tensor a =
      tensor({0.0, 1.0, 1.5, 2.0, 3.0, double{NAN}}, {.dtype = float64}).requires_grad_();
  const Tensor one = full({6}, 1.0, {.dtype = float64}).requires_grad_();
  const Tensor two = full({6}, 2.0, {.dtype = float64}).requires_grad_();
  const Tensor other = full({6}, 1.0, {.dtype = float64}).requires_grad_();
  EXPECT_EQ(grads(clamp(a, {.min = 1.0}), {a}), (All{{0, 0, 1, 1, 1, 0}}));
  EXPECT_EQ(grads(clamp(a, {.min = 1.0, .max = 2.0}), {a}), (All{{0, 0, 1, 0, 0, 0}}));
  EXPECT_EQ(grads(clamp(a, {.min = one}), {a, one}),
            (All{{0, 0.5, 1, 1, 1, 1}, {1, 0.5, 0, 0, 0, 1}}));
  EXPECT_EQ(grads(clamp(a, {.max = two}), {a, two}),
            (All{{1, 1, 1, 0.5, 0, 1}, {0, 0, 0, 0.5, 1, 1}}));
  EXPECT_EQ(grads(clamp(a, {.min = one, .max = two}), {a, one, two}),
            (All{{0, 0.5, 1, 0.5, 0, 1}, {1, 0.5, 0, 0, 0, 0}, {0, 0, 0, 0.5, 1, 0}}));
  EXPECT_EQ(grads(clamp(a, {.min = two, .max = one}), {a, two, one}),
            (All{{0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 1}}));
  EXPECT_EQ(grads(clamp(a, {.min = one, .max = other}), {a, one, other}),
            (All{{0, 1, 0, 0, 0, 1}, {1, 0, 0, 0, 0, 0}, {0, 0, 1, 1, 1, 0}}));
}

// The same beside PyTorch 2.14: half to each of two that are the same, both where one is no number.
TEST(GradientOf, TheLargerOfTwoThatAreTheSame) {
  const Tensor x = tensor({double{NAN}, 1.0, 2.0, 1.0}, {.dtype = float64}).requires_grad_();
  const Tensor y = tensor({1.0, double{NAN}, 2.0, 0.0}, {.dtype = float64}).requires_grad_();
  for (const auto f : {static_cast<Tensor (*)(const Tensor&, const Tensor&)>(maximum),
                       static_cast<Tensor (*)(const Tensor&, const Tensor&)>(fmax)}) {
    const auto grads = autograd::grad({f(x, y).sum()}, {x, y});
    EXPECT_TRUE(equal(grads[0], tensor({1.0, 1.0, 0.5, 1.0}, {.dtype = float64})));
    EXPECT_TRUE(equal(grads[1], tensor({1.0, 1.0, 0.5, 0.0}, {.dtype = float64})));
  }
}

// Corners where formulas that hold elsewhere do not, beside PyTorch 2.14.
TEST(GradientOf, Corners) {
  const auto number = [](double value) {
    return full({}, value, {.dtype = float64}).requires_grad_();
  };
  const auto of = [](const Tensor& y, const Tensor& x) {
    return autograd::grad({y.sum()}, {x})[0];
  };
  const Tensor zero = number(0), one = number(1), two = number(2), tenth = number(0.1);
  EXPECT_NEAR(of(xlogy(zero, two), zero).item<double>(), std::log(2), 1e-15);
  EXPECT_EQ(of(xlogy(zero, number(-1).detach()), zero).item<double>(), 0);
  EXPECT_EQ(of(remainder(one, tenth), tenth).item<double>(), -9);
  EXPECT_EQ(of(atan2(zero, number(0).detach()), zero).item<double>(), 0);
  EXPECT_NEAR(of(pow(tensor(2), two), two).item<double>(), 4 * std::log(2), 1e-15);
  // An element that is no number is the largest of all.
  const Tensor odd = tensor({1.0, double{NAN}, 2.0}, {.dtype = float64}).requires_grad_();
  EXPECT_TRUE(equal(of(odd.max(), odd), tensor({0.0, 1.0, 0.0}, {.dtype = float64})));
  // Of several elements in one place each has its part.
  const Tensor x = ones({1}, {.dtype = float64}).requires_grad_();
  EXPECT_EQ(of(x.expand({3}).as_strided({1}, {1}, 0), x).item<double>(), 1);
  // Positions of another rank than what they pick from.
  EXPECT_EQ(of(gather(one, 0, tensor({0, 0, 0})), one).item<double>(), 3);
  EXPECT_EQ(
      of(scatter_add(zeros({3}, {.dtype = float64}), 0, tensor({1}), one), one).item<double>(), 1);
}

TEST(GradientOf, ComplexLogaddexp) {
  using C = std::complex<double>;
  const Tensor a = tensor({C(1, 2)}).requires_grad_(), b = tensor({C(1, -1)});
  const C expected = 1.0 / std::conj(1.0 + std::exp(C(1, -1) - C(1, 2)));
  const Tensor y = logaddexp(a, b);
  const C actual =
      autograd::grad({y}, {a}, {.grad_outputs = {ones_like(y.detach())}})[0][0].item<C>();
  EXPECT_NEAR(actual.real(), expected.real(), 1e-5);
  EXPECT_NEAR(actual.imag(), expected.imag(), 1e-5);
}

TEST(GradientOf, WhatWasPutMayBeWrittenToAfterwards) {
  const Tensor x = random({3}), v = random({2}, 2);
  const Tensor y = x * 1, values = v * 1;
  y.index_put_({tensor({0, 2})}, values);
  values.add_(1);
  EXPECT_TRUE(equal(autograd::grad({y.sum()}, {v})[0], ones({2}, {.dtype = float64})));
}

}  // namespace
}  // namespace tenon
