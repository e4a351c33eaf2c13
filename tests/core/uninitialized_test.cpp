// Tensors without a shape: what they keep, what they refuse, and how they become ordinary ones. The
// sentences are what PyTorch 2.14.1 says.
#include "tenon/uninitialized.h"

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Uninitialized, KeepsDtypeDeviceAndWhetherItRequiresGrad) {
  const Tensor parameter = uninitialized_parameter();
  EXPECT_TRUE(is_lazy(parameter));
  EXPECT_TRUE(parameter.is_parameter());
  EXPECT_TRUE(parameter.requires_grad());
  EXPECT_TRUE(parameter.is_leaf());
  EXPECT_FALSE(parameter.grad().defined());
  EXPECT_EQ(parameter.dtype(), float32);
  EXPECT_EQ(parameter.device(), Device::cpu());
  const Tensor buffer = uninitialized_buffer({.device = "meta", .dtype = int64});
  EXPECT_TRUE(is_lazy(buffer));
  EXPECT_FALSE(buffer.is_parameter());
  EXPECT_FALSE(buffer.requires_grad());
  EXPECT_EQ(buffer.dtype(), int64);
  EXPECT_TRUE(buffer.is_meta());
  EXPECT_FALSE(is_lazy(ones({2})));
  EXPECT_FALSE(is_lazy(Tensor()));
  EXPECT_THROW(uninitialized_parameter({.dtype = int64}), DTypeError);
}

TEST(Uninitialized, IsMadeWhereTheScopesSay) {
  const Tensor made = with_device("meta", [] { return uninitialized_parameter(); });
  EXPECT_TRUE(made.is_meta());
}

TEST(Uninitialized, PrintsAsPyTorchs) {
  EXPECT_EQ(uninitialized_parameter().repr(), "<UninitializedParameter>");
  EXPECT_EQ(uninitialized_buffer().repr(), "<UninitializedBuffer>");
}

TEST(Uninitialized, HasNoShapeAndSaysWhatToDo) {
  const Tensor parameter = uninitialized_parameter();
  const std::string text =
      "Can't access the shape of an uninitialized parameter or buffer. This error usually happens "
      "in `load_state_dict` when trying to load an uninitialized parameter into an initialized "
      "one. Call `forward` to initialize the parameters before accessing their attributes.";
  EXPECT_EQ(message_of<Error>([&] { parameter.shape(); }), text);
  EXPECT_EQ(message_of<Error>([&] { parameter.size(0); }), text);
  EXPECT_EQ(message_of<Error>([&] { parameter.stride(); }), text);
  EXPECT_EQ(message_of<Error>([&] { parameter.numel(); }), text);
  EXPECT_EQ(message_of<Error>([&] { parameter.dim(); }), text);
  EXPECT_EQ(message_of<Error>([&] { parameter.is_contiguous(); }), text);
  EXPECT_EQ(message_of<Error>([&] { parameter.contiguous(); }), text);
  // A gradient of it would have one, too.
  EXPECT_EQ(message_of<Error>([&] { parameter.set_grad(zeros({0})); }), text);
  parameter.set_grad(Tensor());
  EXPECT_FALSE(parameter.grad().defined());
}

TEST(Uninitialized, OperatorsRefuseItByName) {
  const Tensor parameter = uninitialized_parameter();
  EXPECT_EQ(message_of<ValueError>([&] { parameter.detach(); }),
            "Attempted to use an uninitialized parameter in 'detach'. This error happens when you "
            "are using a `LazyModule` or explicitly manipulating "
            "`torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch "
            "functions");
  const Tensor buffer = uninitialized_buffer();
  expect_error<ValueError>([&] { buffer.clone(); }, "'clone'",
                           "`torch.nn.parameter.UninitializedBuffer`");
  EXPECT_THROW(buffer.zero_(), ValueError);
  // What a leaf that requires grad may not do is not what is wrong, nor would a clone() help.
  expect_error<ValueError>([&] { parameter.fill_(1); }, "'fill_'", "Call `forward`");
  expect_error<ValueError>([&] { parameter.copy_(ones({2})); }, "'copy_'");
  expect_error<ValueError>([&] { parameter + 1; }, "'add'");
  expect_error<ValueError>([&] { add(parameter, ones({2})); }, "'add'");
  EXPECT_THROW(ones({2}) * parameter, ValueError);
  EXPECT_THROW(ones({2}).copy_(buffer), ValueError);
  EXPECT_THROW(buffer.copy_(ones({2})), ValueError);
  EXPECT_THROW(buffer.item(), ValueError);
  EXPECT_THROW(buffer.data<float>(), ValueError);
  EXPECT_THROW(buffer.data_ptr(), ValueError);
  EXPECT_THROW(linear(ones({2, 3}), parameter), ValueError);
  EXPECT_THROW(empty_like(parameter), ValueError);
  EXPECT_THROW(nn::make_parameter(buffer), ValueError);
  EXPECT_TRUE(is_lazy(parameter));
}

TEST(Uninitialized, ConversionsGiveAnotherOneOrItself) {
  const Tensor parameter = uninitialized_parameter({.requires_grad = false});
  EXPECT_TRUE(parameter.to(float32).is(parameter));
  EXPECT_TRUE(parameter.cpu().is(parameter));
  const Tensor half = parameter.to(bfloat16);
  EXPECT_FALSE(half.is(parameter));
  EXPECT_TRUE(is_lazy(half));
  EXPECT_EQ(half.dtype(), bfloat16);
  EXPECT_TRUE(half.is_parameter());
  EXPECT_FALSE(half.requires_grad());
  const Tensor moved = half.to(Device::meta());
  EXPECT_TRUE(is_lazy(moved));
  EXPECT_TRUE(moved.is_meta());
  EXPECT_TRUE(is_lazy(moved.cpu()));  // there is nothing to be copied
  EXPECT_EQ(moved.cpu().dtype(), bfloat16);
  EXPECT_THROW(uninitialized_parameter().to(int64), DTypeError);
}

TEST(Uninitialized, MaterialisesAsTheTensorItIs) {
  const Tensor parameter = uninitialized_parameter({.dtype = float64});
  const std::vector<Tensor> held = {parameter};
  const WeakTensor weak = parameter;
  const std::uint64_t id = parameter.id();
  parameter.set_attribute("note", 3);
  materialize(parameter, {4, 3});
  EXPECT_FALSE(is_lazy(parameter));
  EXPECT_EQ(held[0].shape(), Shape({4, 3}));
  EXPECT_TRUE(weak.lock().is(parameter));
  EXPECT_EQ(parameter.id(), id);
  EXPECT_EQ(parameter.dtype(), float64);
  EXPECT_TRUE(parameter.is_parameter());
  EXPECT_TRUE(parameter.requires_grad());
  EXPECT_EQ(parameter.attribute("note")->as_int(), 3);
  {
    const NoGradScope no_grad;
    parameter.fill_(2);
  }
  (held[0] * held[0]).sum().backward();
  EXPECT_TRUE(equal(parameter.grad(), full({4, 3}, 4, {.dtype = float64})));
  EXPECT_THROW(materialize(parameter, {2}), TypeError);
}

TEST(Uninitialized, MaterialisesElsewhereIfAsked) {
  const Tensor parameter = uninitialized_parameter();
  materialize(parameter, 3, {.device = "meta", .dtype = float16});
  EXPECT_TRUE(parameter.is_meta());
  EXPECT_EQ(parameter.dtype(), float16);
  EXPECT_EQ(parameter.shape(), Shape({3}));
  const Tensor refused = uninitialized_parameter();
  EXPECT_THROW(materialize(refused, 3, {.dtype = int64}), DTypeError);
  EXPECT_THROW(materialize(refused, {-1}), ShapeError);
  EXPECT_TRUE(is_lazy(refused));
}

TEST(Uninitialized, ItsHooksStayWhenItMaterialises) {
  const Tensor parameter = uninitialized_parameter();
  int calls = 0;
  parameter.register_post_accumulate_grad_hook([&](const Tensor&) { ++calls; });
  materialize(parameter, {2});
  const NoGradScope no_grad;
  parameter.fill_(1);
  const GradModeScope grad(true);
  parameter.sum().backward();
  EXPECT_EQ(calls, 1);
}

TEST(Uninitialized, IsSwappedLikeAnyOther) {
  const Tensor parameter = uninitialized_parameter(), other = ones({2});
  swap_tensors(parameter, other);
  EXPECT_EQ(parameter.shape(), Shape({2}));
  EXPECT_TRUE(is_lazy(other));
}

TEST(Uninitialized, DataIsSetBetweenTwoOfThem) {
  const Tensor parameter = uninitialized_parameter();
  parameter.set_data(uninitialized_parameter({.dtype = float64}));
  EXPECT_TRUE(is_lazy(parameter));
  EXPECT_EQ(parameter.dtype(), float64);
  EXPECT_THROW(parameter.set_data(ones({2})), Error);
  EXPECT_THROW(ones({2}).set_data(parameter), Error);
}

}  // namespace
}  // namespace tenon
