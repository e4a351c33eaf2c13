#include "tenon/extend/saved_tensor.h"

#include "core/autograd_meta.h"
#include "support/matchers.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

TEST(SavedTensor, GivesTheDataAndTheHistoryBack) {
  const Tensor x = ones({2}).requires_grad_();
  const Tensor y = x.clone();
  const SavedTensor of_leaf(x, SavedTensor::Role::input), of_result(y, SavedTensor::Role::input);
  EXPECT_EQ(of_leaf.unpack("mul").data_ptr(), x.data_ptr());
  EXPECT_EQ(of_leaf.unpack("mul").grad_fn()->name(), "AccumulateGrad");
  EXPECT_EQ(of_result.unpack("mul").grad_fn(), y.grad_fn());
  EXPECT_FALSE(of_leaf.unpack("mul").is(x));
}

TEST(SavedTensor, NoticesAWriteInBetween) {
  const Tensor x = ones({2, 3});
  const SavedTensor saved(x, SavedTensor::Role::input);
  x.view({6}).fill_(2);
  expect_error<AutogradError>([&] { saved.unpack("mul"); }, "'mul'", "[2, 3]",
                              "at version 1; expected version 0");
}

TEST(SavedTensor, DoesNotHoldTheTensor) {
  SavedTensor saved;
  WeakTensor weak;
  {
    const Tensor x = ones({2});
    weak = x;
    saved = SavedTensor(x, SavedTensor::Role::input);
  }
  EXPECT_FALSE(weak.lock().defined());
  EXPECT_EQ(saved.unpack("mul").select(0, 0).item<float>(), 1.0f);
}

TEST(SavedTensor, CountsAsASaveUntilItGoes) {
  const Tensor x = ones({2});
  {
    SavedTensor first(x, SavedTensor::Role::input);
    const SavedTensor second(x, SavedTensor::Role::input);
    EXPECT_EQ(x.body().live_saves(), 2);
    const SavedTensor moved = std::move(first);
    EXPECT_EQ(x.body().live_saves(), 2);
  }
  EXPECT_EQ(x.body().live_saves(), 0);
}

TEST(SavedTensor, KeepsAUserDefinedTensorWhole) {
  const Tensor x = make_tensor<ScaledTensor>(ones({2}), 0.5);
  const SavedTensor saved(x, SavedTensor::Role::input);
  EXPECT_EQ(saved.unpack("mul").as<ScaledTensor>()->scale, 0.5);
}

TEST(SavedTensor, OneThatWasNeverFilledSaysSo) {
  expect_error<AutogradError>([] { SavedTensor().unpack("mul"); }, "mul", "freed");
}

}  // namespace
}  // namespace tenon
