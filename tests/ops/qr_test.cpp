#include "ops/linalg/qr.h"

#include "support/matchers.h"

namespace tenon {
namespace {

// The lower triangle of R, without the diagonal, and what is negative on the diagonal.
double wrong_in_r(const Tensor& r) {
  double wrong = 0;
  for (std::int64_t i = 0; i < r.size(0); ++i) {
    for (std::int64_t j = 0; j < i; ++j) wrong = std::max(wrong, std::abs(r[i][j].item<double>()));
    wrong = std::max(wrong, -r[i][i].item<double>());
  }
  return wrong;
}

// Sizes on both sides of the number of columns that are factored together.
TEST(OrthonormalColumns, AreThoseOfTheOneFactorisationWithAPositiveDiagonal) {
  manual_seed(2);
  for (const auto& [m, n] :
       {std::pair(1, 1), std::pair(7, 1), std::pair(5, 5), std::pair(40, 31), std::pair(33, 32),
        std::pair(50, 33), std::pair(70, 70), std::pair(200, 65)}) {
    const Tensor a = randn({m, n}, {.dtype = float64}), q = orthonormal_columns(a);
    ASSERT_EQ(q.shape(), a.shape());
    EXPECT_TRUE(allclose(mm(q.t(), q), eye(n, {.dtype = float64}), {.rtol = 0, .atol = 1e-13}));
    const Tensor r = mm(q.t(), a);
    EXPECT_TRUE(allclose(mm(q, r), a, {.rtol = 0, .atol = 1e-12}));
    EXPECT_LT(wrong_in_r(r), 1e-12) << m << "x" << n;
  }
}

TEST(OrthonormalColumns, TakeAnyOrderInMemoryAndLeaveTheMatrixAlone) {
  manual_seed(2);
  const Tensor a = randn({4, 9}), before = a.clone();
  const Tensor q = orthonormal_columns(a.t());
  EXPECT_EQ(q.dtype(), float32);
  EXPECT_TRUE(equal(a, before));
  EXPECT_TRUE(equal(q, orthonormal_columns(a.t().contiguous())));
  EXPECT_TRUE(allclose(mm(q.t(), q), eye(4), {.rtol = 0, .atol = 1e-6}));
}

TEST(OrthonormalColumns, OfNothingAreNothing) {
  EXPECT_TRUE(equal(orthonormal_columns(zeros({3, 1})), zeros({3, 1})));
  EXPECT_EQ(orthonormal_columns(zeros({3, 0})).shape(), Shape({3, 0}));
}

}  // namespace
}  // namespace tenon
