#include "tenon/ops/flip.h"

#include <limits>

#include "ops/known_numbers.h"
#include "support/gradcheck.h"
#include "support/matchers.h"

namespace tenon {
namespace {

Tensor matrix() { return arange(6).view({2, 3}); }
using Args = const std::vector<Tensor>&;
Tensor numbers(const Shape& shape) { return randn(shape, {.dtype = float64}).requires_grad_(); }
std::string node_of(const Tensor& t) { return t.grad_fn()->name(); }

TEST(Triangles, AreKeptAndTheRestIsZero) {
  const Tensor x = arange(1, 10).view({3, 3});
  EXPECT_TRUE(equal(tril(x), tensor({{1, 0, 0}, {4, 5, 0}, {7, 8, 9}})));
  EXPECT_TRUE(equal(triu(x), tensor({{1, 2, 3}, {0, 5, 6}, {0, 0, 9}})));
  EXPECT_TRUE(equal(triu(x, {.diagonal = 1}), tensor({{0, 2, 3}, {0, 0, 6}, {0, 0, 0}})));
  EXPECT_TRUE(equal(x.tril(-1), tensor({{0, 0, 0}, {4, 0, 0}, {7, 8, 0}})));
  EXPECT_TRUE(equal(x.triu({.diagonal = -1}), tensor({{1, 2, 3}, {4, 5, 6}, {0, 8, 9}})));
  EXPECT_TRUE(equal(tril(x, 9), x));
  EXPECT_TRUE(equal(tril(x, std::numeric_limits<std::int64_t>::max()), x));
  EXPECT_TRUE(equal(triu(x, std::numeric_limits<std::int64_t>::min()), x));
  EXPECT_TRUE(equal(tril(x.t()), triu(x).t()));
  EXPECT_TRUE(equal(tril(matrix().expand({2, 2, 3}))[1], tensor({{0, 0, 0}, {3, 4, 0}})));
  EXPECT_EQ(tril(zeros({0, 3, 3})).shape(), Shape({0, 3, 3}));
  EXPECT_EQ(triu(zeros({3, 3}).to(Device::meta())).shape(), Shape({3, 3}));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(triu(full({2, 2}, -infinity), 1).repr(), "tensor([[0., -inf],\n        [0., 0.]])");
  expect_error<ShapeError>([] { tril(zeros({3})); }, "at least 2 dimensions", "[3]");
}

TEST(Triangles, MayBeWrittenInPlace) {
  const Tensor x = arange(1, 10).view({3, 3});
  const Tensor& same = x.tril_();
  EXPECT_TRUE(same.is(x));
  EXPECT_TRUE(equal(x, tensor({{1, 0, 0}, {4, 5, 0}, {7, 8, 9}})));
  x.t().triu_(1);
  EXPECT_TRUE(equal(x, tensor({{0, 0, 0}, {4, 0, 0}, {7, 8, 0}})));
  expect_gradients([](Args a) { return (a[0] * 2).tril_(); }, {numbers({3, 3})});
}

TEST(Triangles, HaveGradients) {
  manual_seed(1);
  expect_gradients([](Args a) { return tril(a[0], 1); }, {numbers({2, 3, 2})});
  expect_gradients([](Args a) { return triu(a[0]); }, {numbers({3, 3})});
  expect_gradients([](Args a) { return diag(a[0], 1); }, {numbers({3})});
  expect_gradients([](Args a) { return diag(a[0], -1); }, {numbers({3, 4})});
  expect_gradients([](Args a) { return diag_embed(a[0], {.offset = 1, .dim1 = 0, .dim2 = 2}); },
                   {numbers({2, 3})});
  expect_gradients([](Args a) { return trace(a[0]); }, {numbers({2, 3})});
  expect_gradients([](Args a) { return trace(a[0]); }, {numbers({3, 2})});
  EXPECT_EQ(node_of(tril(numbers({2, 2}))), "TrilBackward0");
  EXPECT_EQ(node_of(triu(numbers({2, 2}))), "TriuBackward0");
  EXPECT_EQ(node_of(diag(numbers({2}))), "DiagEmbedBackward0");
}

TEST(Triangles, HaveIndices) {
  EXPECT_TRUE(equal(tril_indices(3, 3), tensor({{0, 1, 1, 2, 2, 2}, {0, 0, 1, 0, 1, 2}})));
  EXPECT_TRUE(
      equal(tril_indices(4, 3, {.offset = -1}), tensor({{1, 2, 2, 3, 3, 3}, {0, 0, 1, 0, 1, 2}})));
  EXPECT_TRUE(equal(triu_indices(2, 3, {.offset = 1}), tensor({{0, 0, 1}, {1, 2, 2}})));
  EXPECT_EQ(triu_indices(0, 3).shape(), Shape({2, 0}));
  for (std::int64_t rows = 0; rows < 5; ++rows) {
    for (std::int64_t columns = 0; columns < 5; ++columns) {
      for (std::int64_t offset = -6; offset < 7; ++offset) {
        const Tensor all = ones({rows, columns});
        EXPECT_TRUE(
            equal(tril_indices(rows, columns, {.offset = offset}), nonzero(tril(all, offset)).t()));
        EXPECT_TRUE(
            equal(triu_indices(rows, columns, {.offset = offset}), nonzero(triu(all, offset)).t()));
      }
    }
  }
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  EXPECT_TRUE(equal(tril_indices(kFar, kFar, {.offset = 1 - kFar}), tensor({{kFar - 1}, {0}})));
  EXPECT_TRUE(equal(triu_indices(kFar, kFar, {.offset = kFar - 1}), tensor({{0}, {kFar - 1}})));
  EXPECT_EQ(tril_indices(1000000, 3, {.device = Device::meta()}).shape(), Shape({2, 2999997}));
  expect_error<ShapeError>([] { tril_indices(kFar, kFar); }, "too large");
  EXPECT_EQ(tril_indices(2, 2, {.dtype = int32}).dtype(), int32);
  expect_error<ValueError>([] { tril_indices(-1, 2); }, "row", "-1");
}

TEST(Diagonals, OfVectorsAndMatrices) {
  EXPECT_TRUE(equal(diag(tensor({1, 2})), tensor({{1, 0}, {0, 2}})));
  EXPECT_TRUE(equal(diag(tensor({1, 2}), 1), tensor({{0, 1, 0}, {0, 0, 2}, {0, 0, 0}})));
  EXPECT_TRUE(equal(matrix().diag(), tensor({0, 4})));
  EXPECT_TRUE(equal(matrix().diag_embed()[1], tensor({{3, 0, 0}, {0, 4, 0}, {0, 0, 5}})));
  EXPECT_EQ(matrix().trace().item<std::int64_t>(), 4);
  expect_error<ShapeError>([] { diag(zeros({2, 2, 2})); }, "1D or 2D", "[2, 2, 2]");
  expect_error<ShapeError>([] { trace(zeros({3})); }, "expected a matrix", "[3]");
}

TEST(Flip, TurnsDimensionsRound) {
  EXPECT_TRUE(equal(flip(matrix(), 1), tensor({{2, 1, 0}, {5, 4, 3}})));
  EXPECT_TRUE(equal(matrix().flip({0, -1}), tensor({{5, 4, 3}, {2, 1, 0}})));
  EXPECT_TRUE(equal(flip(zeros({}), 0), zeros({})));
  EXPECT_EQ(flip(zeros({0, 3}), 0).shape(), Shape({0, 3}));
  EXPECT_THROW(flip(matrix(), {0, 0}), Error);
  manual_seed(1);
  expect_gradients([](Args a) { return flip(a[0], {0, 2}); }, {numbers({2, 2, 3})});
  EXPECT_EQ(node_of(flip(numbers({2}), 0)), "FlipBackward0");
}

TEST(Roll, MovesElementsRound) {
  EXPECT_TRUE(equal(roll(matrix(), 1), tensor({{5, 0, 1}, {2, 3, 4}})));
  EXPECT_TRUE(equal(roll(matrix(), 1, 1), tensor({{2, 0, 1}, {5, 3, 4}})));
  EXPECT_TRUE(equal(roll(matrix(), {-1, -1}, {.dims = {0, 1}}), tensor({{4, 5, 3}, {1, 2, 0}})));
  EXPECT_TRUE(equal(roll(matrix(), {1, 5}, {.dims = {0, 1}}), tensor({{4, 5, 3}, {1, 2, 0}})));
  EXPECT_TRUE(equal(matrix().roll(-1, 0), tensor({{3, 4, 5}, {0, 1, 2}})));
  EXPECT_TRUE(equal(matrix().t().roll({1}, 1), tensor({{3, 0}, {4, 1}, {5, 2}})));
  EXPECT_EQ(roll(zeros({0, 2}), 1, 0).shape(), Shape({0, 2}));
  expect_error<ValueError>([] { roll(matrix(), {1, 2}, {.dims = 0}); }, "must align",
                           "shifts: 2, dims:1");
  manual_seed(1);
  expect_gradients([](Args a) { return roll(a[0], {1, -2}, {.dims = {0, 1}}); }, {numbers({2, 5})});
  EXPECT_EQ(node_of(roll(numbers({2}), 1)), "RollBackward0");
}

TEST(Repeat, PutsTheWholeBesideItself) {
  EXPECT_TRUE(equal(tensor({1, 2}).repeat(2), tensor({1, 2, 1, 2})));
  EXPECT_TRUE(equal(tensor({1, 2}).repeat({2, 2}), tensor({{1, 2, 1, 2}, {1, 2, 1, 2}})));
  EXPECT_TRUE(equal(matrix().t().repeat({1, 2})[0], tensor({0, 3, 0, 3})));
  EXPECT_TRUE(equal(tile(matrix(), 2), cat({matrix(), matrix()}, 1)));
  EXPECT_EQ(matrix().repeat({2, 0, 1}).shape(), Shape({2, 0, 3}));
  EXPECT_EQ(tensor(1).repeat({2, 2}).shape(), Shape({2, 2}));
  expect_error<ShapeError>([] { matrix().repeat(2); }, "[2]", "[2, 3]");
  manual_seed(1);
  expect_gradients([](Args a) { return repeat(a[0], {2, 1, 3}); }, {numbers({2, 2})});
  EXPECT_EQ(node_of(repeat(numbers({2}), 2)), "RepeatBackward0");
}

TEST(Repeat, RefusesTimesThatOverflow) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  expect_error<ShapeError>([&] { ones({4}).repeat({kHuge}); }, "too large", "[4]");
  expect_error<ShapeError>([&] { ones({2, 3}).repeat({2, 1, kHuge}); }, "too large", "[2, 3]");
}

TEST(RepeatInterleave, PutsEachBesideItself) {
  EXPECT_TRUE(equal(repeat_interleave(tensor({1, 2}), 2), tensor({1, 1, 2, 2})));
  EXPECT_TRUE(equal(repeat_interleave(matrix(), 2, {.dim = 1})[0], tensor({0, 0, 1, 1, 2, 2})));
  EXPECT_TRUE(equal(matrix().repeat_interleave(2, 0)[1], tensor({0, 1, 2})));
  EXPECT_TRUE(
      equal(matrix().repeat_interleave(tensor({1, 0, 2}), 1), tensor({{0, 2, 2}, {3, 5, 5}})));
  EXPECT_TRUE(equal(repeat_interleave(tensor({2, 0, 1})), tensor({0, 0, 2})));
  EXPECT_EQ(repeat_interleave(matrix().to(Device::meta()), 3, 0).shape(), Shape({6, 3}));
  expect_error<ShapeError>([] { repeat_interleave(ones({3}), tensor({1, 2}), 0); },
                           "repeats.size(0) = 2", "= 3");
  manual_seed(1);
  expect_gradients([](Args a) { return repeat_interleave(a[0], 2, 1); }, {numbers({2, 2})});
  expect_gradients([](Args a) { return repeat_interleave(a[0], tensor({2, 1}), 0); },
                   {numbers({2, 2})});
}

TEST(Rot90, TurnsPlanes) {
  EXPECT_TRUE(equal(rot90(matrix()), tensor({{2, 5}, {1, 4}, {0, 3}})));
  EXPECT_TRUE(equal(rot90(matrix(), 2), tensor({{5, 4, 3}, {2, 1, 0}})));
  EXPECT_TRUE(equal(rot90(matrix(), {.k = -1}), tensor({{3, 0}, {4, 1}, {5, 2}})));
  EXPECT_TRUE(equal(rot90(matrix(), 4), matrix()));
}

TEST(Meshgrid, SpreadsCoordinates) {
  const auto grid = meshgrid({arange(2), arange(3)}, {.indexing = "ij"});
  EXPECT_TRUE(equal(grid[0], tensor({{0, 0, 0}, {1, 1, 1}})));
  EXPECT_TRUE(equal(grid[1], tensor({{0, 1, 2}, {0, 1, 2}})));
  const auto turned = meshgrid({arange(2), arange(3)}, {.indexing = "xy"});
  EXPECT_TRUE(equal(turned[0], tensor({{0, 1}, {0, 1}, {0, 1}})));
  EXPECT_TRUE(equal(turned[1], tensor({{0, 0}, {1, 1}, {2, 2}})));
  expect_error<ShapeError>([] { meshgrid({ones({2, 2})}); }, "[2, 2]");
  expect_error<ValueError>([] { meshgrid({ones({2})}, {.indexing = "yx"}); }, "yx");
}

TEST(Stacks, OfRowsAndColumns) {
  EXPECT_TRUE(equal(hstack({tensor({1}), tensor({2, 3})}), tensor({1, 2, 3})));
  EXPECT_TRUE(equal(hstack({ones({2, 1}), zeros({2, 1})}), tensor({{1., 0.}, {1., 0.}})));
  EXPECT_TRUE(equal(vstack({tensor({1, 2}), tensor({{3, 4}})}), tensor({{1, 2}, {3, 4}})));
  EXPECT_TRUE(equal(swapaxes(matrix(), 0, 1), matrix().t()));
}

TEST(OneHot, HasAOneWhereEachNumberSays) {
  EXPECT_TRUE(equal(one_hot(tensor({0, 2})), tensor({{1, 0, 0}, {0, 0, 1}})));
  EXPECT_EQ(one_hot(tensor({{0}, {1}}), {.num_classes = 4}).shape(), Shape({2, 1, 4}));
  EXPECT_EQ(one_hot(zeros({0}, {.dtype = int64}), 3).shape(), Shape({0, 3}));
  expect_error<ValueError>([] { one_hot(tensor({0, 5}), 3); }, "smaller than num_classes", "5");
  expect_error<ValueError>([] { one_hot(tensor({0, -1})); }, "non-negative", "-1");
  expect_error<DTypeError>([] { one_hot(tensor({0.})); }, "LongTensor");
}

TEST(Bincount, CountsNumbers) {
  EXPECT_TRUE(equal(bincount(tensor({0, 2, 2})), tensor({1, 0, 2})));
  EXPECT_TRUE(equal(bincount(tensor({0}), {.minlength = 3}), tensor({1, 0, 0})));
  EXPECT_TRUE(equal(bincount(tensor({0, 0}), {.weights = tensor({0.5, 0.25})}), tensor({0.75})));
  expect_error<ValueError>([] { bincount(tensor({-1})); }, "non-negative");
}

TEST(Logsumexp, NeverOverflows) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({{1., 2., 3.}, {infinity, 0., 0.}, {-infinity, -infinity, -infinity}});
  EXPECT_EQ(logsumexp(x, 1).repr(), "tensor([3.4076,    inf,   -inf])");
  EXPECT_NEAR(logsumexp(tensor({{1, 2}, {3, 4}}), {0, 1}).item<double>(), 4.4402, 1e-4);
  EXPECT_NEAR(logsumexp(full({2}, 1000.), 0).item<double>(), 1000.69315, 1e-4);
  EXPECT_EQ(logsumexp(zeros({2, 3}), -1, {.keepdim = true}).shape(), Shape({2, 1}));
  EXPECT_EQ(logsumexp(empty({2, 0}), 1)[0].item<double>(), -infinity);
  manual_seed(1);
  expect_gradients([](Args a) { return logsumexp(a[0], {0, 2}); }, {numbers({2, 2, 3})});
  expect_gradients([](Args a) { return a[0].logsumexp(-1, {.keepdim = true}); }, {numbers({2, 3})});
  EXPECT_EQ(node_of(logsumexp(numbers({2}), 0)), "LogsumexpBackward0");
}

TEST(NanToNum, PutsNumbersInPlaceOfNone) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 1.});
  EXPECT_EQ(nan_to_num(x).repr(), "tensor([ 0.0000e+00,  3.4028e+38, -3.4028e+38,  1.0000e+00])");
  EXPECT_TRUE(
      equal(x.nan_to_num({.nan = 2, .posinf = 3., .neginf = 4.}), tensor({2., 3., 4., 1.})));
  EXPECT_TRUE(nan_to_num(x.to(bfloat16)).isfinite().all().item<bool>());
  EXPECT_TRUE(equal(nan_to_num(tensor({1, 2})), tensor({1, 2})));
  manual_seed(1);
  expect_gradients([](Args a) { return nan_to_num(a[0]); }, {numbers({4})});
}

TEST(Geometry, DistancesAndCrossProducts) {
  const Tensor a = tensor({{0., 0.}, {3., 4.}}), b = tensor({{0., 0.}, {0., 4.}});
  EXPECT_TRUE(equal(cdist(a, b), tensor({{0., 4.}, {5., 3.}})));
  EXPECT_TRUE(equal(cdist(a, b, {.p = 1}), tensor({{0., 4.}, {7., 3.}})));
  EXPECT_TRUE(equal(cross(tensor({1., 0., 0.}), tensor({0., 1., 0.})), tensor({0., 0., 1.})));
  EXPECT_TRUE(equal(kron(tensor({{1, 2}}), tensor({{1}, {3}})), tensor({{1, 2}, {3, 6}})));
  expect_error<ShapeError>([] { cdist(ones({2, 3}), ones({2, 4})); }, "X1: 3 X2: 4");
  // In blocks, if nothing is recorded.
  const Tensor many = rand({2, 700, 10}), others = rand({1, 900, 10});
  EXPECT_TRUE(equal(cdist(many, others), norm(many.unsqueeze(-2) - others.unsqueeze(-3), 2, -1)));
  expect_error<ShapeError>([] { cross(ones({2}), ones({2}), 0); }, "length 3", "[2]");
  manual_seed(1);
  expect_gradients([](Args x) { return cdist(x[0], x[1]); }, {numbers({3, 2}), numbers({2, 2})});
  expect_gradients([](Args x) { return cross(x[0], x[1], 1); }, {numbers({2, 3}), numbers({2, 3})});
}

TEST(AddedProducts, AddAProduct) {
  manual_seed(1);
  const Tensor a = numbers({2, 2, 3}), b = numbers({2, 3, 2}), c = numbers({2, 1});
  EXPECT_TRUE(allclose(baddbmm(c, a, b, {.beta = 2, .alpha = 3}), c * 2 + bmm(a, b) * 3));
  EXPECT_TRUE(allclose(addbmm(c, a, b), c + bmm(a, b).sum(0)));
  EXPECT_TRUE(allclose(addmv(c[0], a[0], b[0].select(1, 0)), c[0] + mv(a[0], b[0].select(1, 0))));
  EXPECT_TRUE(allclose(addr(c, c[0].expand({2}), c[1].expand({3})),
                       c + outer(c[0].expand({2}), c[1].expand({3}))));
  expect_error<ShapeError>([&] { baddbmm(zeros({3, 3, 3}, {.dtype = float64}), a, b); },
                           "[3, 3, 3]", "[2, 2, 2]");
}

TEST(ComplexParts, MakeComplexNumbers) {
  const Tensor c = complex(tensor({1.F, 2.F}), tensor({3.F}));
  EXPECT_EQ(c.dtype(), complex64);
  EXPECT_TRUE(equal(c.imag(), tensor({3.F, 3.F})));
  EXPECT_TRUE(allclose(view_as_real(polar(ones({1}), full({1}, 0.5))),
                       stack({cos(full({1}, 0.5)), sin(full({1}, 0.5))}, -1)));
  expect_error<DTypeError>([] { polar(ones({2}, {.dtype = float64}), ones({2})); }, "float64",
                           "float32");
  manual_seed(1);
  expect_gradients([](Args a) { return view_as_real(polar(a[0], a[1])); },
                   {numbers({3}), numbers({2, 3})});
  expect_gradients([](Args a) { return view_as_real(complex(a[0], a[1])); },
                   {numbers({3}), numbers({3})});
}

TEST(Multinomial, DrawsWhatPyTorchDraws) {
  manual_seed(3);
  const Tensor p = tensor({{.1F, .2F, .3F, .4F}, {.7F, .1F, .1F, .1F}});
  EXPECT_TRUE(equal(multinomial(p, 1), tensor({{0}, {0}})));
  EXPECT_TRUE(equal(p.multinomial(3), tensor({{2, 3, 0}, {0, 3, 1}})));
  EXPECT_TRUE(equal(multinomial(p, 6, {.replacement = true}),
                    tensor({{1, 2, 3, 1, 3, 2}, {0, 0, 0, 0, 0, 0}})));
  EXPECT_TRUE(
      equal(multinomial(p[0].to(float64), 5, {.replacement = true}), tensor({2, 3, 3, 0, 0})));
  expect_error<ValueError>([&] { multinomial(p, 5); }, "without replacement", "5 of 4");
  expect_error<ValueError>([&] { multinomial(-p, 1); }, "element < 0");
  expect_error<DTypeError>([&] { multinomial(tensor({1, 2}), 1); }, "floating-point");
}

}  // namespace
}  // namespace tenon
