#include <unistd.h>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Copy, BroadcastsAndConverts) {
  const Tensor x = zeros({2, 3}, {.dtype = int32});
  EXPECT_TRUE(x.copy_(tensor({1.9, -2.9, 3.0})).is(x));
  EXPECT_EQ(x.repr(), "tensor([[ 1, -2,  3],\n        [ 1, -2,  3]], dtype=torch.int32)");
  x.copy_(tensor(5));
  EXPECT_EQ(x[1][2].item<int>(), 5);
}

TEST(Copy, ShapesThatDoNotFitShowBoth) {
  expect_error<ShapeError>([] { zeros({2, 3}).copy_(zeros({3, 2})); }, "(3) must match", "(2)",
                           "[2, 3]", "[3, 2]");
  expect_error<ShapeError>([] { zeros({3}).copy_(zeros({2, 3})); }, "output with shape [3]",
                           "[2, 3]");
}

TEST(Copy, OntoItselfDoesNothingAndOntoItsNeighbourIsRefused) {
  const Tensor x = arange(6.0);
  x.copy_(x);
  EXPECT_TRUE(equal(x, arange(6.0)));
  expect_error<Error>([&] { x.slice(0, 1).copy_(x.slice(0, 0, 5)); }, "single memory location",
                      "clone()");
  expect_error<Error>([&] { x.view({2, 3}).t().copy_(x.view({3, 2})); }, "single memory location");
  EXPECT_TRUE(equal(x, arange(6.0)));
  x.slice(0, 0, 6, 2).copy_(x.slice(0, 1, 6, 2));
  EXPECT_TRUE(equal(x, tensor({1.0, 1.0, 3.0, 3.0, 5.0, 5.0})));
}

TEST(Copy, OverlapsThatAreNotDenseComeOutAsIfThereWasACopyInBetween) {
  const Tensor x = arange(16.0).view({4, 4});
  const Tensor expected = x.slice(0, 1).slice(1, 1).clone();
  x.slice(0, 0, 3).slice(1, 0, 3).copy_(x.slice(0, 1).slice(1, 1));
  EXPECT_TRUE(equal(x.slice(0, 0, 3).slice(1, 0, 3), expected));
}

TEST(Copy, TheSameBytesUnderAnotherDTypeAreConvertedInPlace) {
  const Tensor x = tensor({1, 2, 3}, {.dtype = int32});
  x.view(float32).copy_(x);
  EXPECT_TRUE(equal(x.view(float32), tensor({1.0, 2.0, 3.0})));
}

TEST(Copy, IntoPlacesThatAreOneIsRefused) {
  expect_error<Error>([] { zeros({1}).expand({3}).copy_(ones({3})); }, "more than one element",
                      "[3]", "[0]");
  zeros({0, 1}).expand({0, 3}).copy_(ones({3}));  // nothing is written
}

TEST(Copy, OutOfMetaSaysWhatToDo) {
  const Tensor meta = empty({2}, {.device = "meta"});
  expect_error<NotImplementedError>([&] { zeros({2}).copy_(meta); },
                                    "Cannot copy out of meta tensor; no data!", "assign");
  expect_error<NotImplementedError>([&] { meta.to(Device::cpu()); }, "no data!");
  expect_error<NotImplementedError>([&] { meta.cpu(); }, "no data!");
  EXPECT_TRUE(meta.copy_(zeros({2})).is(meta));
  EXPECT_TRUE(meta.to(Device::meta()).is(meta));
  EXPECT_EQ(zeros({3}).to(Device::meta()).shape(), Shape({3}));
}

// In a process of its own: the warning is said once in the life of one.
TEST(Copy, LosingAnImaginaryPartWarnsOnce) {
  const auto lose = [] {
    int warnings = 0;
    set_warning_handler([&](const std::string& message) {
      if (message.find("discards the imaginary part") != std::string::npos) ++warnings;
    });
    const Tensor c = tensor({std::complex<double>(1, 2)});
    c.to(complex128);
    c.to(bool_);
    if (warnings != 0) ::_exit(100);
    c.to(float32);
    zeros({1}).copy_(c);
    ::_exit(warnings);
  };
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(lose(), testing::ExitedWithCode(1), "");
}

TEST(Copy, QuantisedElementsCopyAsTheyAreAndNotOtherwise) {
  std::int8_t bytes[] = {1, 2, 3, 4};
  const Tensor q = from_blob(bytes, {2, 2}, {.dtype = qint8});
  EXPECT_TRUE(equal(q.t().contiguous().view(int8), tensor({{1, 3}, {2, 4}}, {.dtype = int8})));
  expect_error<DTypeError>([&] { q.to(float32); }, "torch.qint8", "scale");
  expect_error<DTypeError>([&] { zeros({2, 2}).copy_(q); }, "torch.qint8");
  expect_error<DTypeError>([] { empty({2}, {.dtype = qint8, .device = "meta"}).to(float32); },
                           "torch.qint8");
}

TEST(To, IsItselfWhereNothingChanges) {
  const Tensor x = ones({2, 3});
  EXPECT_TRUE(x.to(float32).is(x));
  EXPECT_TRUE(x.to(Device("cpu:3")).is(x));
  EXPECT_TRUE(x.to(ToOptions{}).is(x));
  EXPECT_TRUE(x.to(ones({1})).is(x));
  EXPECT_FALSE(x.to({.copy = true}).is(x));
  EXPECT_FALSE(x.to(float64).is(x));
  EXPECT_EQ(x.to({.dtype = bfloat16, .device = Device::meta()}).dtype(), bfloat16);
  EXPECT_FALSE(
      ones({1, 2, 3, 4}).to({.memory_format = MemoryFormat::channels_last}).is_contiguous());
}

TEST(To, ADeviceThatIsNotHereSaysSo) {
  expect_error<DeviceError>([] { ones({1}).to(Device::cuda(1)); }, "cuda:1", "no backend");
}

TEST(Contiguous, IsItselfIfItIs) {
  const Tensor x = ones({2, 3});
  EXPECT_TRUE(x.contiguous().is(x));
  EXPECT_FALSE(x.t().contiguous().is(x.t()));
  EXPECT_TRUE(x.t().contiguous().is_contiguous());
  const Tensor image = ones({2, 3, 4, 5});
  EXPECT_EQ(image.contiguous({.memory_format = MemoryFormat::channels_last}).stride(),
            Dims({60, 1, 15, 3}));
  expect_error<ShapeError>([&] { x.contiguous(MemoryFormat::channels_last); }, "rank 4", "[2, 3]");
}

TEST(Clone, OwnsItsBytes) {
  const Tensor x = arange(3.0), y = x.clone();
  y.fill_(0);
  EXPECT_EQ(x[2].item<float>(), 2.0f);
  EXPECT_EQ(x.expand({4, 3}).clone().stride(), Dims({3, 1}));
  EXPECT_EQ(
      clone(x.view({3, 1}).expand({3, 2}), {.memory_format = MemoryFormat::contiguous}).stride(),
      Dims({2, 1}));
}

TEST(Copy, LargeTensorsComeOutTheSameOnAnyNumberOfThreads) {
  const Tensor x = arange(1'000'000.0).view({1000, 1000});
  const int before = get_num_threads();
  set_num_threads(1);
  const Tensor alone = x.t().contiguous(), cast_alone = x.t().to(float64);
  set_num_threads(4);
  EXPECT_TRUE(equal(x.t().contiguous(), alone));
  EXPECT_TRUE(equal(x.t().to(float64), cast_alone));
  EXPECT_EQ(alone[3][7].item<float>(), 7003.0f);
  set_num_threads(before);
}

}  // namespace
}  // namespace tenon
