// Every operator on the CPU and on meta: the same shape, strides, dtype, or the same error.
#include <functional>

#include "support/matchers.h"

namespace tenon {
namespace {

struct Both {
  std::string name;
  std::function<std::vector<Tensor>(const Tensor& x)> run;
};

std::vector<Both> operators() {
  const auto one = [](std::string name, std::function<Tensor(const Tensor&)> f) {
    return Both{std::move(name), [f](const Tensor& x) { return std::vector<Tensor>{f(x)}; }};
  };
  std::vector<Both> all{
      one("view", [](const Tensor& x) { return x.view({-1, 2}); }),
      one("view_dtype", [](const Tensor& x) { return x.view(int16); }),
      one("reshape", [](const Tensor& x) { return x.t().reshape({-1}); }),
      one("slice", [](const Tensor& x) { return x.slice(0, 1, 3, 2); }),
      one("narrow", [](const Tensor& x) { return x.narrow(1, 0, 1); }),
      one("select", [](const Tensor& x) { return x.select(0, -1); }),
      one("transpose", [](const Tensor& x) { return x.transpose(0, 1); }),
      one("permute", [](const Tensor& x) { return x.permute({1, 0}); }),
      one("expand", [](const Tensor& x) { return x.expand({3, -1, -1}); }),
      one("squeeze", [](const Tensor& x) { return x.squeeze(); }),
      one("unsqueeze", [](const Tensor& x) { return x.unsqueeze(1); }),
      one("flatten", [](const Tensor& x) { return x.flatten(); }),
      one("unflatten", [](const Tensor& x) { return x.unflatten(0, {2, -1}); }),
      one("as_strided", [](const Tensor& x) { return x.as_strided({2, 2}, {1, 2}, 1); }),
      one("diagonal", [](const Tensor& x) { return x.diagonal(); }),
      one("unfold", [](const Tensor& x) { return x.unfold(0, 2, 1); }),
      one("movedim", [](const Tensor& x) { return x.movedim(0, 1); }),
      one("real", [](const Tensor& x) { return x.real(); }),
      one("imag", [](const Tensor& x) { return x.imag(); }),
      one("conj", [](const Tensor& x) { return x.to(complex64).conj().imag(); }),
      one("view_as_real", [](const Tensor& x) { return view_as_real(x.to(complex64)); }),
      one("view_as_complex", [](const Tensor& x) { return view_as_complex(x.view({-1, 2})); }),
      one("view_as_complex wrong", [](const Tensor& x) { return view_as_complex(x[0]); }),
      one("squeeze dim", [](const Tensor& x) { return x.unsqueeze(0).squeeze(0); }),
      one("squeeze dims", [](const Tensor& x) { return x.unsqueeze(0).squeeze({0, 1}); }),
      one("t", [](const Tensor& x) { return x.t(); }),
      one("fill_ tensor", [](const Tensor& x) { return x.clone().fill_(full_like(x[0][0], 2)); }),
      one("detach", [](const Tensor& x) { return x.detach(); }),
      one("index",
          [](const Tensor& x) {
            return x.index({Slice(1), None, tensor({0, 1}, {.device = Device::cpu()})});
          }),
      one("clone", [](const Tensor& x) { return x.t().clone(); }),
      one("contiguous", [](const Tensor& x) { return x.t().contiguous(); }),
      one("to dtype", [](const Tensor& x) { return x.t().to(bfloat16); }),
      one("to complex", [](const Tensor& x) { return x.to(complex128); }),
      one("copy_", [](const Tensor& x) { return x.clone().copy_(x[0]); }),
      one("copy_ wrong", [](const Tensor& x) { return x[0].clone().copy_(x); }),
      one("fill_", [](const Tensor& x) { return x.clone().fill_(2); }),
      one("fill_ wrong",
          [](const Tensor& x) { return x.clone().fill_(std::complex<double>(0, 1)); }),
      one("zero_", [](const Tensor& x) { return x.clone().zero_(); }),
      one("index_put_", [](const Tensor& x) { return x.clone().index_put_({0}, 1); }),
      one("empty_like", [](const Tensor& x) { return empty_like(x.t()); }),
      one("full_like", [](const Tensor& x) { return full_like(x, 3, {.dtype = int32}); }),
      one("cat", [](const Tensor& x) { return cat({x, x[0].unsqueeze(0)}); }),
      one("cat wrong", [](const Tensor& x) { return cat({x, x[0]}); }),
      one("stack", [](const Tensor& x) { return stack({x, x.to(float64)}, 1); }),
      one("narrow wrong", [](const Tensor& x) { return x.narrow(0, 3, 100); }),
      one("view wrong", [](const Tensor& x) { return x.view({7, 7}); }),
      one("out of range", [](const Tensor& x) { return x.select(5, 0); }),
      {"split", [](const Tensor& x) { return x.split(1); }},
      {"split sizes", [](const Tensor& x) { return x.split({1, 3}); }},
      {"chunk", [](const Tensor& x) { return x.chunk(3); }},
      {"unbind", [](const Tensor& x) { return x.unbind(1); }},
  };
  return all;
}

struct Outcome {
  std::vector<Layout> layouts;
  std::string error;
};

Outcome run(const Both& op, const Tensor& x) {
  Outcome outcome;
  try {
    for (const Tensor& t : op.run(x)) outcome.layouts.push_back(t.layout());
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

TEST(Meta, EveryOperatorAgreesWithTheCpuAboutShapesAndErrors) {
  for (const DType dtype : {float32, int64, complex64, float16, bool_}) {
    for (const Both& op : operators()) {
      SCOPED_TRACE(op.name + " of " + repr(dtype));
      const Tensor here = zeros({4, 2}, {.dtype = dtype});
      const std::int64_t before = memory_allocated();
      const Outcome cpu = run(op, here), meta = run(op, here.to(Device::meta()));
      EXPECT_EQ(cpu.error, meta.error);
      ASSERT_EQ(cpu.layouts.size(), meta.layouts.size());
      for (std::size_t i = 0; i < cpu.layouts.size(); ++i) {
        EXPECT_EQ(cpu.layouts[i].shape, meta.layouts[i].shape);
        EXPECT_EQ(cpu.layouts[i].strides, meta.layouts[i].strides);
        EXPECT_EQ(cpu.layouts[i].offset, meta.layouts[i].offset);
        EXPECT_EQ(cpu.layouts[i].dtype, meta.layouts[i].dtype);
        EXPECT_EQ(cpu.layouts[i].conj, meta.layouts[i].conj);
        EXPECT_EQ(cpu.layouts[i].neg, meta.layouts[i].neg);
        EXPECT_TRUE(meta.layouts[i].device.is_meta());
      }
      EXPECT_EQ(memory_allocated(), before);
    }
  }
}

TEST(Meta, AllocatesNothingHoweverLarge) {
  reset_peak_memory_stats();
  const std::int64_t before = memory_allocated();
  const Tensor x = empty({1 << 20, 1 << 20}, {.device = "meta"});
  const Tensor y = cat({x.t().contiguous(), x.to(float64)}).clone();
  EXPECT_EQ(y.nbytes(), std::int64_t{1} << 44);
  EXPECT_EQ(max_memory_allocated(), before);
}

}  // namespace
}  // namespace tenon
