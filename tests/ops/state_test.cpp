#include "core/autograd_meta.h"
#include "support/matchers.h"

namespace tenon {
namespace {

TEST(SetData, TakesTheDataAndKeepsTheRest) {
  const Tensor p = nn::make_parameter(ones({2}));
  const auto id = p.id();
  p.set_grad(zeros({2}));
  p.set_attribute("a", 1);
  const Tensor fresh = zeros({3}, {.dtype = float64});
  const Tensor old_view = p.detach();
  p.set_data(fresh);
  EXPECT_EQ(p.id(), id);
  EXPECT_EQ(p.shape(), Shape({3}));
  EXPECT_EQ(p.dtype(), float64);
  EXPECT_EQ(p.data_ptr(), fresh.data_ptr());
  EXPECT_TRUE(p.is_parameter());
  EXPECT_TRUE(p.requires_grad());
  EXPECT_TRUE(p.grad().defined());
  EXPECT_EQ(p.attribute("a")->as_int(), 1);
  EXPECT_EQ(old_view.shape(), Shape({2}));
}

TEST(SetData, RefusesWhatPyTorchRefuses) {
  const Tensor p = nn::make_parameter(ones({2}));
  expect_error<DTypeError>([&] { p.set_data(arange(2)); }, "floating point or complex",
                           "torch.int64");
  expect_error<Error>([&] { p.set_data(ones({2}, {.device = "meta"})); }, "cpu", "meta",
                      "incompatible tensor type");
  const Tensor meta = ones({2}, {.device = "meta"});
  expect_error<Error>([&] { meta.set_data(ones({2})); }, "incompatible");
  meta.set_data(zeros({5}, {.device = "meta"}));
  EXPECT_EQ(meta.shape(), Shape({5}));
  EXPECT_EQ(p.shape(), Shape({2}));
}

TEST(SetData, ANewGraphGetsANewAccumulatorWhenTheDTypeChanges) {
  const Tensor p = nn::make_parameter(ones({2}));
  const Tensor before = p.clone();
  p.set_data(zeros({2}));
  const Tensor same = p.clone();
  EXPECT_EQ(before.grad_fn()->next_edges()[0].node, same.grad_fn()->next_edges()[0].node);
  p.set_data(zeros({2}, {.dtype = float64}));
  const Tensor after = p.clone();
  EXPECT_NE(before.grad_fn()->next_edges()[0].node, after.grad_fn()->next_edges()[0].node);
}

}  // namespace
}  // namespace tenon
