#include "tenon/nn/clip_grad.h"

#include <cmath>
#include <limits>

#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon::nn::utils {
namespace {

std::vector<Tensor> parameters() {
  const Tensor a = make_parameter(zeros({2, 2})), b = make_parameter(zeros({3})),
               none = make_parameter(zeros({1}));
  a.set_grad(tensor({{1.0, -2.0}, {3.0, -4.0}}));
  b.set_grad(tensor({0.5, 6.0, -1.5}));
  return {a, b, none};
}

// Values are PyTorch's.
TEST(ClipGrad, TotalNormsAreThoseOfPyTorch) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto all = parameters();
  const std::vector<Tensor> grads{all[0].grad(), all[1].grad()};
  for (const auto& [p, expected] : {std::pair(2.0, 8.276472), std::pair(1.0, 18.0),
                                    std::pair(inf, 6.0), std::pair(3.0, 6.836340)})
    EXPECT_NEAR(get_total_norm(grads, {.norm_type = p}).item<double>(), expected, 1e-5) << p;
  EXPECT_EQ(get_total_norm({}).item<double>(), 0);
}

TEST(ClipGrad, ScalesGradientsDownAndNeverUp) {
  auto all = parameters();
  EXPECT_NEAR(clip_grad_norm_(all, 2.0).item<double>(), 8.276472, 1e-5);
  EXPECT_NEAR(all[0].grad().select(0, 1).select(0, 1).item<double>(), -0.966595, 1e-6);
  EXPECT_NEAR(get_total_norm({all[0].grad(), all[1].grad()}).item<double>(), 2, 1e-5);
  EXPECT_FALSE(all[2].grad().defined());
  all = parameters();
  clip_grad_norm_(all, 100);
  EXPECT_TRUE(equal(all[1].grad(), tensor({0.5, 6.0, -1.5})));
}

TEST(ClipGrad, ClampsEveryNumber) {
  const auto all = parameters();
  clip_grad_value_(all, 1.25);
  EXPECT_TRUE(equal(all[0].grad(), tensor({{1.0, -1.25}, {1.25, -1.25}})));
  EXPECT_TRUE(equal(all[1].grad(), tensor({0.5, 1.25, -1.25})));
}

TEST(ClipGrad, SaysThatATotalIsNoNumberIfAsked) {
  const auto all = parameters();
  all[1].grad().fill_(std::nan(""));
  expect_error<ValueError>([&] { clip_grad_norm_(all, 1, {.error_if_nonfinite = true}); },
                           "The total norm of order 2.0", "non-finite");
  EXPECT_EQ(all[0].grad().select(0, 0).select(0, 0).item<double>(), 1);
  EXPECT_TRUE(std::isnan(clip_grad_norm_(all, 1).item<double>()));
}

}  // namespace
}  // namespace tenon::nn::utils
