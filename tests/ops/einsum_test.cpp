#include "tenon/ops/einsum.h"

#include "ops/known_numbers.h"
#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/recorded.h"

namespace tenon {
namespace {

TEST(Einsum, IsWhatPyTorchGives) {
  for (const recorded::Line& row : recorded::rows("ops/cases/einsum", 45)) {
    SCOPED_TRACE(recorded::joined(row));
    ASSERT_EQ(row.size(), 5);
    const std::string& equation = row[0];
    const Shape shape = recorded::sizes(row[2]);
    const std::vector<double> grads = recorded::reals(row[4]);
    std::vector<Tensor> operands, metas;
    std::istringstream shapes(row[1]);
    for (std::string one; std::getline(shapes, one, ';');) {
      const int salt = 7 * static_cast<int>(operands.size());
      operands.push_back(known_numbers(recorded::sizes(one), salt).requires_grad_());
      metas.push_back(operands.back().detach().to(Device::meta()));
    }
    const Tensor out = einsum(equation, operands);
    ASSERT_EQ(out.shape(), shape);
    ASSERT_EQ(operands.size(), grads.size());
    expect_weighted_sum(out, recorded::real(row[3]));
    out.backward({.gradient = known_gradient(out.shape())});
    for (std::size_t i = 0; i < operands.size(); ++i)
      expect_weighted_sum(operands[i].grad(), grads[i]);
    EXPECT_EQ(einsum(equation, metas).shape(), shape);
  }
}

TEST(Einsum, TakesTensorsOneByOneOrInAList) {
  const Tensor a = arange(6.).view({2, 3}), b = arange(12.).view({3, 4});
  EXPECT_TRUE(equal(einsum("ij,jk->ik", a, b), matmul(a, b)));
  EXPECT_TRUE(equal(einsum("ij,jk->ik", {a, b}), matmul(a, b)));
  EXPECT_TRUE(equal(einsum("ij->ji", a), a.t()));
  EXPECT_TRUE(equal(einsum("ij,jk->ik", a.t().contiguous().t(), b), matmul(a, b)));
}

TEST(Einsum, HasTheStridesOfPyTorch) {
  struct Case {
    const char* equation;
    Shape a, b;
    Dims strides;
  };
  const Case cases[] = {
      {"bld,bmd->bml", {2, 3, 4}, {2, 5, 4}, {15, 3, 1}},
      {"ij,jk->ki", {2, 3}, {3, 4}, {2, 1}},
      {"bij,bjk->bki", {2, 3, 4}, {2, 4, 5}, {15, 3, 1}},
      {"...ij,...jk->...ki", {2, 2, 3, 4}, {2, 2, 4, 5}, {30, 15, 3, 1}},
      {"bcn,bdn->bdc", {2, 3, 4}, {2, 5, 4}, {15, 3, 1}},
      {"nshd,nshm->nhmd", {2, 3, 4, 5}, {2, 3, 4, 6}, {120, 30, 5, 1}},
      {"abx,cx->cba", {2, 3, 4}, {5, 4}, {6, 2, 1}},
      {"bcd,ad->abc", {3, 6, 4}, {5, 4}, {18, 6, 1}},
      {"abij,ajk->akbi", {1, 2, 3, 4}, {1, 4, 5}, {30, 6, 3, 1}},
      {"xld,xrd->xlr", {1, 3, 4}, {1, 5, 4}, {15, 5, 1}},
      {"bxd,dy->byx", {2, 3, 4}, {4, 5}, {15, 1, 5}},
      {"ad,bcd->bac", {3, 4}, {5, 6, 4}, {6, 30, 1}},
      {"bd,acd->abc", {5, 4}, {3, 6, 4}, {6, 18, 1}},
      {"ax,bcx->cab", {2, 4}, {3, 5, 4}, {3, 15, 1}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.equation);
    EXPECT_EQ(einsum(c.equation, rand(c.a), rand(c.b)).stride(), c.strides);
  }
}

TEST(Einsum, HasGradientsThatDifferencesConfirm) {
  manual_seed(1);
  const auto numbers = [](const Shape& shape) {
    return randn(shape, {.dtype = float64}).requires_grad_();
  };
  using Args = const std::vector<Tensor>&;
  expect_gradients([](Args a) { return einsum("bij,bkj->bik", a[0], a[1]); },
                   {numbers({2, 3, 2}), numbers({2, 2, 2})});
  expect_gradients([](Args a) { return einsum("ii,ij->j", a[0], a[1]); },
                   {numbers({3, 3}), numbers({3, 2})});
  expect_gradients([](Args a) { return einsum("...i,...i->...", a[0], a[1]); },
                   {numbers({2, 3}), numbers({1, 3})});
}

TEST(Einsum, SaysWhereAnEquationDoesNotFit) {
  const Tensor a = zeros({2, 3}), b = zeros({4, 5}), v = zeros({2});
  expect_error<ValueError>([&] { einsum("ij,jk->ik", a); }, "fewer operands were provided");
  expect_error<ValueError>([&] { einsum("ij->i", a, a); }, "more operands were provided");
  expect_error<ValueError>([&] { einsum("ij->ijk", a); }, "output subscript k does not appear");
  expect_error<ValueError>([&] { einsum("i->ii", v); },
                           "output subscript i appears more than once");
  expect_error<ShapeError>([&] { einsum("ij,jk", a, b); }, "subscript j has size 4 for operand 1",
                           "previously seen size 3", "[4, 5]");
  expect_error<ValueError>([&] { einsum("i1->i", a); }, "invalid subscript given at index 1");
  expect_error<ValueError>([&] { einsum("ij-ij", a); }, "invalid subscript given at index 2");
  expect_error<ShapeError>([&] { einsum("ij...->...", v); },
                           "number of subscripts in the equation (2) is more than", "(1)");
  expect_error<ShapeError>([&] { einsum("i", a); }, "(1) does not match", "(2) for operand 0",
                           "[2, 3]");
  expect_error<ValueError>([&] { einsum("i...j...", a); }, "an ellipsis was already found");
  expect_error<ValueError>([&] { einsum("ij->..", a); }, "not part of any ellipsis");
  expect_error<ShapeError>([&] { einsum("ii", a); }, "subscript i is repeated for operand 0",
                           "3 != 2");
  expect_error<ValueError>([&] { einsum("ij", std::vector<Tensor>()); }, "at least one operand");
}

TEST(Tensordot, SumsOverPairsOfDimensions) {
  const Tensor a = arange(24.).view({2, 3, 4}), b = arange(60.).view({3, 4, 5});
  EXPECT_TRUE(equal(tensordot(a, b), a.reshape({2, 12}).matmul(b.reshape({12, 5}))));
  EXPECT_TRUE(equal(tensordot(a, b, {2, 1}, {1, 0}), tensordot(a, b)));
  EXPECT_EQ(tensordot(a, b, 0).shape(), Shape({2, 3, 4, 3, 4, 5}));
  EXPECT_EQ(tensordot(a, a, {-1}, {2}).shape(), Shape({2, 3, 2, 3}));
  expect_error<ShapeError>([&] { tensordot(a, b, {0}, {0}); }, "size 2", "size 3");
  EXPECT_TRUE(equal(chain_matmul(std::vector<Tensor>{eye(2), ones({2, 3}), ones({3, 1})}),
                    full({2, 1}, 3.)));
}

}  // namespace
}  // namespace tenon
