#include <cmath>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Equal, ComparesShapesAndNumbers) {
  EXPECT_TRUE(equal(arange(3), arange(3.0)));
  EXPECT_FALSE(equal(arange(3), arange(4)));
  EXPECT_FALSE(equal(arange(4).view({2, 2}), arange(4)));
  EXPECT_FALSE(equal(tensor(std::nan("")), tensor(std::nan(""))));
  EXPECT_TRUE(equal(empty({0, 3}), empty({0, 3})));
  const Tensor x = arange(6).view({2, 3});
  EXPECT_TRUE(equal(x.t(), x.t().contiguous()));
  const Tensor c = tensor({std::complex<double>(1, 2)});
  EXPECT_FALSE(equal(c, c.conj()));
  EXPECT_TRUE(equal(c.conj(), c.conj().clone()));
}

TEST(Equal, OnMetaThereIsNoAnswer) {
  const Tensor meta = zeros({1}, {.device = "meta"});
  expect_error<NotImplementedError>([&] { equal(meta, meta); }, "'equal'", "meta");
  expect_error<Error>([&] { equal(zeros({1}), meta); }, "meta");
}

}  // namespace
}  // namespace tenon
