// Values are compared with PyTorch's in tests/parity; here are defaults, types, limits and memory.
#include "tenon/ops/factories.h"

#include <limits>
#include <thread>

#include "support/matchers.h"
#include "support/temp_dir.h"

namespace tenon {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// Every factory that takes its device from the context.
std::vector<Tensor> all_factories() {
  return {empty({2}),        empty_strided({2}, {1}),
          zeros({2}),        ones({2}),
          full({2}, 3),      arange(3),
          arange(1, 3),      arange(0, 1, 0.5),
          linspace(0, 1, 3), eye(2),
          eye(2, 3),         scalar_tensor(1),
          tensor({1, 2}),    tensor(std::vector<float>{1}),
          tensor(2.5)};
}

TEST(Factories, FollowTheDeviceContext) {
  for (const Tensor& t : all_factories()) EXPECT_TRUE(t.is_cpu());
  for (const Tensor& t : with_device("meta", all_factories)) EXPECT_TRUE(t.is_meta());
  set_default_device("meta");
  for (const Tensor& t : all_factories()) EXPECT_TRUE(t.is_meta());
  {
    const DeviceScope scope("cpu");
    for (const Tensor& t : all_factories()) EXPECT_TRUE(t.is_cpu());
  }
  set_default_device(std::nullopt);
}

TEST(Factories, AnExplicitDeviceAndLikeAnotherDoNot) {
  const Tensor here = ones({2});
  const DeviceScope scope("meta");
  EXPECT_TRUE(zeros({2}, {.device = "cpu"}).is_cpu());
  EXPECT_TRUE(empty_like(here).is_cpu());
  EXPECT_TRUE(zeros_like(here).is_cpu());
  EXPECT_TRUE(here.clone().is_cpu());
  float data[2] = {};
  EXPECT_TRUE(from_blob(data, {2}).is_cpu());
}

TEST(Factories, FollowTheDefaultDType) {
  const DTypeScope scope(float64);
  for (const Tensor& t : {empty({1}), zeros({1}), ones({1}), eye(1), linspace(0, 1, 2),
                          tensor({1.5}), arange(1.0), full({1}, 0.5)}) {
    EXPECT_EQ(t.dtype(), float64);
  }
  EXPECT_EQ(arange(3).dtype(), int64);
  EXPECT_EQ(tensor({true}).dtype(), bool_);
  EXPECT_EQ(tensor({std::complex<float>(1, 2)}).dtype(), complex128);
}

TEST(Factories, CpuIndicesAndMetaIndicesAreDropped) {
  EXPECT_EQ(empty({1}, {.device = "cpu:1"}).device(), Device::cpu());
  EXPECT_EQ(empty({1}, {.device = "meta:1"}).device(), Device::meta());
}

TEST(Factories, MayRequireGrad) {
  EXPECT_TRUE(zeros({1}, {.requires_grad = true}).requires_grad());
  EXPECT_TRUE(ones_like(zeros({1}), {.requires_grad = true}).requires_grad());
  expect_error<DTypeError>([] { arange(3, {.requires_grad = true}); }, "torch.int64");
}

TEST(Factories, SizesThatCannotBeAreErrorsAndNotCrashes) {
  expect_error<ShapeError>([] { empty({-1}); }, "negative dimension -1: [-1]");
  expect_error<ShapeError>([] { zeros({kMax, kMax}); }, "overflow");
  expect_error<OutOfMemoryError>([] { empty({std::int64_t{1} << 48}); }, "1125899906842624 bytes");
  expect_error<OutOfMemoryError>([] { zeros({std::int64_t{1} << 48}); }, "1125899906842624 bytes");
  expect_error<OutOfMemoryError>([] { arange(std::int64_t{1} << 48); }, "bytes");
  expect_error<ShapeError>([] { arange(kMax); }, "overflow");
  expect_error<ShapeError>([] { arange(std::numeric_limits<std::int64_t>::min(), kMax); },
                           "more than can be counted");
  expect_error<ShapeError>([] { arange(0, 1e30); }, "more than can be counted");
  expect_error<ShapeError>([] { empty_strided({2, 3}, {1}); }, "(2)", "(1)");
  expect_error<ShapeError>([] { empty_strided({2}, {-1}); }, "negative");
  expect_error<ShapeError>([] { empty_strided({3}, {kMax}); }, "overflow");
  expect_error<ValueError>([] { eye(-1); }, "-1");
  expect_error<ValueError>([] { linspace(0, 1, -1); }, "-1");
}

TEST(Factories, OnMetaAnySizeIsFree) {
  const std::int64_t before = memory_allocated();
  const DeviceScope scope("meta");
  EXPECT_EQ(zeros({1 << 20, 1 << 20, 1 << 10}).numel(), std::int64_t{1} << 50);
  EXPECT_EQ(arange(std::int64_t{1} << 50).shape(), Shape({std::int64_t{1} << 50}));
  EXPECT_EQ(linspace(0, 1, std::int64_t{1} << 50).nbytes(), std::int64_t{1} << 52);
  EXPECT_EQ(eye(1 << 24).dim(), 2);
  EXPECT_EQ(full({1 << 24, 1 << 24}, 1).dtype(), int64);
  EXPECT_EQ(memory_allocated(), before);
}

TEST(Factories, ArangeSaysWhatIsWrong) {
  expect_error<ValueError>([] { arange(0, 10, 0); }, "nonzero");
  expect_error<ValueError>([] { arange(10, 0); }, "inconsistent with step sign",
                           "arange(10, 0, 1)");
  expect_error<ValueError>([] { arange(0, std::numeric_limits<double>::infinity()); },
                           "unsupported range: 0 -> inf");
  expect_error<DTypeError>([] { arange(3, {.dtype = bool_}); }, "'Bool'");
  expect_error<DTypeError>([] { arange(3, {.dtype = complex64}); }, "'ComplexFloat'");
  expect_error<DTypeError>([] { linspace(0, 1, 3, {.dtype = bool_}); }, "'Bool'");
}

TEST(TensorLiteral, HasTheShapeOfItsBraces) {
  EXPECT_EQ(tensor({{{1, 2}, {3, 4}}}).shape(), Shape({1, 2, 2}));
  EXPECT_EQ(tensor({5}).shape(), Shape({1}));
  EXPECT_EQ(tensor(5).shape(), Shape());
  EXPECT_EQ(tensor({}).shape(), Shape({0}));
  EXPECT_EQ(tensor({{}}).shape(), Shape({1, 0}));
  EXPECT_EQ(tensor({{}, {}}).shape(), Shape({2, 0}));
}

TEST(TensorLiteral, FindsTheDTypeAsPythonDoes) {
  EXPECT_EQ(tensor({true, false}).dtype(), bool_);
  EXPECT_EQ(tensor({true, 2}).dtype(), int64);
  EXPECT_EQ(tensor({1, 2.5, true}).dtype(), float32);
  EXPECT_EQ(tensor({{1.0, 2}, {3, std::complex<double>(0, 1)}}).dtype(), complex64);
  EXPECT_EQ(tensor({}).dtype(), float32);
  EXPECT_EQ(tensor({1.5}, {.dtype = int32})[0].item<int>(), 1);
}

TEST(TensorLiteral, TypedContainersKeepTheirType) {
  EXPECT_EQ(tensor(std::vector<double>{1, 2}).dtype(), float64);
  EXPECT_EQ(tensor(std::vector<std::int8_t>{1, 2}).dtype(), int8);
  EXPECT_EQ(tensor(std::vector<bool>{true, false}).repr(), "tensor([ True, False])");
  const Half halves[] = {Half(1.5f)};
  EXPECT_EQ(tensor(std::span<const Half>(halves)).dtype(), float16);
  EXPECT_EQ(tensor(std::vector<float>{1.5}, {.dtype = int64}).dtype(), int64);
  EXPECT_EQ(tensor(std::vector<float>{}).shape(), Shape({0}));
}

TEST(TensorLiteral, RaggedListsAreRefused) {
  expect_error<ValueError>([] { tensor({{1, 2}, {3}}); },
                           "expected sequence of length 2 at dim 1 (got 1)");
  expect_error<ValueError>([] { tensor({{1, 2}, 3}); }, "at dim 1", "a number");
  expect_error<ValueError>([] { tensor({1, {2}}); }, "expected a number at dim 1", "list of 1");
  expect_error<ValueError>([] { tensor({300}, {.dtype = uint8}); }, "uint8", "300");
  expect_error<TypeError>([] { tensor({std::complex<double>(0, 1)}, {.dtype = float32}); },
                          "not complex");
}

TEST(FromBlob, IsTheMemoryItself) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  bool freed = false;
  {
    const Tensor t =
        from_blob(data, {2, 2}, {.strides = Dims{3, 1}, .deleter = [&](void*) { freed = true; }});
    EXPECT_EQ(t[1][1].item<float>(), 4.0f);
    t.fill_(9);
    const Tensor view = t[0];
  }
  EXPECT_TRUE(freed);
  EXPECT_EQ(data[3], 9.0f);
  EXPECT_EQ(data[2], 2.0f);
}

TEST(FromBlob, RefusesWhatReachesOutside) {
  float data[4] = {};
  expect_error<ShapeError>([&] { from_blob(data, {2, 3}, {.nbytes = sizeof data}); }, "24 bytes",
                           "16");
  expect_error<ShapeError>([&] { from_blob(data, {2}, {.strides = Dims{1, 1}}); }, "2 strides");
  expect_error<ShapeError>([&] { from_blob(data, {2}, {.strides = Dims{-1}}); }, "negative");
  EXPECT_EQ(from_blob(data, {2}, {.nbytes = sizeof data}).storage().nbytes(), sizeof data);
}

TEST(FromFile, MapsTheElements) {
  const TempDir dir;
  const float values[] = {1, 2, 3};
  const std::string path =
      dir.write("f", std::string_view(reinterpret_cast<const char*>(values), sizeof values));
  const Tensor t = from_file(path, 3);
  EXPECT_TRUE(equal(t, tensor({1.0, 2.0, 3.0})));
  t.fill_(9);
  EXPECT_EQ(TempDir::read(path), std::string(reinterpret_cast<const char*>(values), sizeof values));
  from_file(path, 1, {.shared = true}).fill_(5);
  EXPECT_EQ(from_file(path, 3)[0].item<float>(), 5.0f);
  expect_error<ValueError>([&] { from_file(path, 4); }, path, "12 bytes", "16");
  expect_error<IoError>([&] { from_file(dir.file("none"), 1); }, "No such file");
  expect_error<ShapeError>([&] { from_file(path, -1); }, "-1");
}

TEST(Factories, StartAtVersionZero) {
  for (const Tensor& t : all_factories()) EXPECT_EQ(t.version(), 0);
  EXPECT_EQ(full_like(ones({2}), 3).version(), 0);
  for (const Tensor& t : with_device("meta", all_factories)) EXPECT_EQ(t.version(), 0);
}

TEST(FromBlob, ANullPointerIsRefusedUnlessThereIsNothingBehindIt) {
  expect_error<ValueError>([] { from_blob(nullptr, {3}); }, "[3]", "12 bytes", "null");
  EXPECT_EQ(from_blob(nullptr, {0}).numel(), 0);
}

TEST(TensorLiteral, NestedVectorsKeepTheirType) {
  const std::vector<std::vector<float>> rows{{1, 2, 3}, {4, 5, 6}};
  EXPECT_TRUE(equal(tensor(rows), arange(1.0, 7.0).view({2, 3})));
  EXPECT_EQ(tensor(rows).dtype(), float32);
  EXPECT_EQ(tensor(rows, {.dtype = int8}).dtype(), int8);
  const std::vector<std::vector<std::vector<bool>>> deep{{{true}, {false}}};
  EXPECT_EQ(tensor(deep).shape(), Shape({1, 2, 1}));
  EXPECT_EQ(tensor(deep).dtype(), bool_);
  expect_error<ValueError>([] { tensor(std::vector<std::vector<int>>{{1, 2}, {3}}); }, "length 2",
                           "dim 1", "(got 1)");
}

}  // namespace
}  // namespace tenon
