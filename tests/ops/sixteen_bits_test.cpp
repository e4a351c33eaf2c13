// bfloat16 and float16: rounded once from what float32 gives, whichever way it is calculated.
// tests/parity has every layer beside PyTorch's exact results.
#include <functional>

#include "support/matchers.h"

namespace tenon {
namespace {

constexpr DType kNarrow[] = {bfloat16, float16};

Tensor values(const Shape& shape, double step, DType dtype) {
  return (arange(shape.numel()) * step + 0.1).sin().reshape(shape).to(dtype);
}
// One unit in the last place of a number just above a power of two.
double unit(DType dtype) { return dtype == bfloat16 ? 0x1p-7 : 0x1p-10; }

// Each element within a unit of what it should be, and small ones within a unit of `small`.
testing::AssertionResult is_rounded(const Tensor& result, const Tensor& exact, double small) {
  const Tensor off = (result.to(float64) - exact.to(float64)).abs(),
               allowed = clamp(exact.to(float64).abs(), ClampOptions{.min = small}) *
                         (unit(result.dtype()) * 0.75);
  if (all(off <= allowed).item<bool>()) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "off by " << amax(off / allowed).item<double>() << " times what is allowed";
}

TEST(SixteenBits, ProductsWithAWeightAreRoundedOnce) {
  const NoGradScope inference;
  for (const DType dtype : kNarrow) {
    for (const std::int64_t columns : {16, 64, 65, 130}) {
      for (const std::int64_t depth : {96, 333, 1024}) {
        const Tensor weight = nn::make_parameter(values({columns, depth}, 0.3, dtype)),
                     turned = nn::make_parameter(values({depth, columns}, 0.3, dtype)),
                     bias = values({columns}, 0.9, dtype);
        for (const std::int64_t rows : {1, 4, 16, 17, 128, 131, 300}) {
          const Tensor x = values({rows, depth}, 0.7, dtype), wide = x.to(float64);
          const Tensor exact = wide.matmul(weight.to(float64).t()) + bias.to(float64),
                       other = wide.matmul(turned.to(float64)) + bias.to(float64);
          for (int use = 0; use < 3; ++use) {
            EXPECT_TRUE(is_rounded(linear(x, weight, bias), exact, 0.1))
                << rows << "x" << depth << "x" << columns << " use " << use;
            EXPECT_TRUE(is_rounded(addmm(bias, x, turned), other, 0.1))
                << rows << "x" << depth << "x" << columns << " use " << use;
            EXPECT_TRUE(is_rounded(mm(x, turned), wide.matmul(turned.to(float64)), 0.1));
          }
        }
      }
    }
  }
}

// What a weight is used for, by which the copies of it in another order are told apart.
struct Use {
  const char* name;
  Shape weight;
  std::function<Tensor(const Tensor& weight)> apply;
};
std::vector<Use> uses(DType dtype) {
  const Tensor rows = values({140, 96}, 0.7, dtype);
  return {
      {"linear", {200, 96}, [=](const Tensor& w) { return linear(rows, w); }},
      {"mm", {96, 200}, [=](const Tensor& w) { return mm(rows, w); }},
      {"a part", {96, 400}, [=](const Tensor& w) { return mm(rows, w.narrow(1, 100, 200)); }},
  };
}

TEST(SixteenBits, PackedWeightsChangeNoBitAndAreGoneWithTheirNumbers) {
  const NoGradScope inference;
  for (const DType dtype : kNarrow) {
    for (const Use& use : uses(dtype)) {
      drop_packed_weights();
      const Tensor weight = nn::make_parameter(values(use.weight, 0.3, dtype));
      const Tensor first = use.apply(weight);
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(equal(use.apply(weight), first)) << use.name;
      EXPECT_TRUE(equal(use.apply(weight.detach().clone()), first)) << use.name;
      EXPECT_GT(packed_weights_bytes(), 0u) << use.name;
      weight.mul_(2);
      EXPECT_EQ(packed_weights_bytes(), 0u) << use.name;
      const Tensor second = use.apply(weight);
      EXPECT_TRUE(equal(second, use.apply(weight.detach().clone()))) << use.name;
      EXPECT_FALSE(equal(second, first)) << use.name;
    }
  }
}

// 256 and 1 are 256 in bfloat16: sums of many have to be rounded once.
TEST(SixteenBits, SumsAtOnePositionAreRoundedOnce) {
  const Tensor rows = zeros({1000}, {.dtype = int64});
  const Tensor many = ones({1000, 3}, {.dtype = bfloat16}),
               none = zeros({4, 3}, {.dtype = bfloat16});
  const auto first = [](const Tensor& sums) {
    return sums.select(0, 0).select(0, 0).item<double>();
  };
  EXPECT_EQ(first(index_add(none, 0, rows, many)), 1000);
  EXPECT_EQ(first(index_add(none, 0, rows, many, {.alpha = 2})), 2000);
  EXPECT_EQ(first(index_add(none, -2, rows, many)), 1000);
  EXPECT_EQ(first(scatter_add(none, 0, rows.unsqueeze(1).expand({1000, 3}), many)), 1000);
  EXPECT_THROW(index_add(none, 0, rows + 4, many), IndexError);

  const auto gradient = [&](auto&& f) {
    const Tensor x = none.clone().requires_grad_();
    f(x).sum().backward();
    return first(x.grad());
  };
  EXPECT_EQ(gradient([&](const Tensor& x) { return index_select(x, 0, rows); }), 1000);
  EXPECT_EQ(gradient([&](const Tensor& x) { return embedding(rows, x); }), 1000);
  EXPECT_EQ(
      gradient([&](const Tensor& x) { return gather(x, 0, rows.unsqueeze(1).expand({1000, 3})); }),
      1000);
  // What else there is stays, and so does a version that is raised once.
  const Tensor into = arange(12).to(bfloat16).view({4, 3});
  const auto version = into.version();
  into.index_add_(0, tensor({1, 1}), ones({2, 3}, {.dtype = bfloat16}));
  EXPECT_EQ(into.version(), version + 1);
  EXPECT_TRUE(equal(into.to(int64), tensor({{0, 1, 2}, {5, 6, 7}, {6, 7, 8}, {9, 10, 11}})));
}

TEST(SixteenBits, GradientsOfProductsAreRoundedOnce) {
  for (const DType dtype : kNarrow) {
    const auto run = [&](DType computed) {
      const Tensor x = values({140, 96}, 0.7, dtype).to(computed).requires_grad_(),
                   w = values({200, 96}, 0.3, dtype).to(computed).requires_grad_(),
                   b = values({200}, 0.9, dtype).to(computed).requires_grad_();
      linear(x, w, b).backward({.gradient = values({140, 200}, 0.37, dtype).to(computed)});
      return std::array{x.grad(), w.grad(), b.grad()};
    };
    const auto narrow = run(dtype), exact = run(float64);
    for (std::size_t i = 0; i < narrow.size(); ++i)
      EXPECT_TRUE(is_rounded(narrow[i], exact[i], 0.1)) << repr(dtype) << i;
  }
}

TEST(SixteenBits, ConvolutionsAndTheirGradientsAreRoundedOnce) {
  for (const DType dtype : kNarrow) {
    for (const std::int64_t kernel : {1, 3}) {
      const auto run = [&](DType computed) {
        const Tensor x = values({2, 16, 13, 11}, 0.7, dtype).to(computed).requires_grad_(),
                     w = values({24, 16, kernel, kernel}, 0.3, dtype).to(computed).requires_grad_(),
                     b = values({24}, 0.9, dtype).to(computed).requires_grad_();
        const Tensor y = conv2d(x, w, {.bias = b});
        y.backward({.gradient = values(y.shape(), 0.37, dtype).to(computed)});
        return std::array{y.detach(), x.grad(), w.grad(), b.grad()};
      };
      const auto narrow = run(dtype), exact = run(float64);
      for (std::size_t i = 0; i < narrow.size(); ++i)
        EXPECT_TRUE(is_rounded(narrow[i], exact[i], 0.3)) << repr(dtype) << kernel << i;
    }
  }
}

// Of more keys than are looked at together, of few queries and of many.
TEST(SixteenBits, AttentionIsCloseToThatOfFloats) {
  for (const DType dtype : kNarrow) {
    for (const std::int64_t keys : {40, 600}) {
      for (const std::int64_t queries : {1, 40}) {
        const Tensor q = values({2, 3, queries, 16}, 0.7, dtype),
                     k = values({2, 3, keys, 16}, 0.31, dtype),
                     v = values({2, 3, keys, 24}, 0.53, dtype);
        const Tensor mask = values({queries, keys}, 0.17, dtype);
        for (const bool causal : {false, true}) {
          const AttentionOptions options{.attn_mask = causal ? Tensor() : mask,
                                         .is_causal = causal};
          const AttentionOptions wide{.attn_mask = causal ? Tensor() : mask.to(float64),
                                      .is_causal = causal};
          const Tensor exact =
              scaled_dot_product_attention(q.to(float64), k.to(float64), v.to(float64), wide);
          EXPECT_TRUE(is_rounded(scaled_dot_product_attention(q, k, v, options), exact, 0.5))
              << repr(dtype) << " " << queries << " of " << keys << causal;
        }
      }
    }
  }
}

// These are calculated in float32 to the last bit, a part at a time.
TEST(SixteenBits, NormsAndPoolsAreThoseOfFloatsRounded) {
  const NoGradScope inference;
  for (const DType dtype : kNarrow) {
    const auto expect_rounded = [&](const char* name, const std::vector<Tensor>& tensors,
                                    const std::function<Tensor(const std::vector<Tensor>&)>& f) {
      std::vector<Tensor> wide;
      for (const Tensor& tensor : tensors) wide.push_back(tensor.to(float32));
      const Tensor expected = f(wide).to(dtype), result = f(tensors);
      EXPECT_EQ(result.dtype(), dtype);
      EXPECT_TRUE(equal(result, expected)) << name << " " << repr(dtype);
    };
    for (const std::int64_t n : {1, 37, 1000}) {
      const std::vector<Tensor> rows{values({50, n}, 0.7, dtype), values({n}, 0.3, dtype),
                                     values({n}, 0.9, dtype)};
      expect_rounded("layer_norm", rows, [&](const auto& t) {
        return layer_norm(t[0], {n}, {.weight = t[1], .bias = t[2]});
      });
      expect_rounded("layer_norm", rows, [&](const auto& t) { return layer_norm(t[0], {n}); });
      expect_rounded("rms_norm", rows,
                     [&](const auto& t) { return rms_norm(t[0], {n}, {.weight = t[1]}); });
    }
    for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
      const std::vector<Tensor> pictures{
          values({2, 5, 70, 60}, 0.7, dtype).contiguous(format), values({5}, 0.3, dtype),
          values({5}, 0.9, dtype), values({5}, 0.5, dtype), values({5}, 0.2, dtype).abs() + 0.5};
      expect_rounded("batch_norm", pictures, [](const auto& t) {
        return batch_norm(t[0], t[3], t[4], {.weight = t[1], .bias = t[2]});
      });
      expect_rounded("max_pool2d", pictures, [](const auto& t) {
        return max_pool2d(t[0], 3, {.stride = 2, .padding = 1});
      });
      expect_rounded("avg_pool2d", pictures, [](const auto& t) { return avg_pool2d(t[0], 3); });
      expect_rounded("adaptive_avg_pool2d", pictures,
                     [](const auto& t) { return adaptive_avg_pool2d(t[0], {3, 4}); });
    }
  }
}

TEST(SixteenBits, PlacesOfTheLargestAreThoseOfFloats) {
  for (const DType dtype : kNarrow) {
    const Tensor x = values({2, 3, 9, 8}, 0.7, dtype);
    const auto [most, places] = max_pool2d_with_indices(x, 3, {.stride = 2});
    const auto [wide_most, wide_places] = max_pool2d_with_indices(x.to(float32), 3, {.stride = 2});
    EXPECT_TRUE(equal(most, wide_most.to(dtype)));
    EXPECT_TRUE(equal(places, wide_places));
  }
}

// 256 and more are not counted in bfloat16.
TEST(SixteenBits, AGradientThatIsDividedByACountHasTheWholeCount) {
  const Tensor weight = ones({2, 1}, {.dtype = bfloat16}).requires_grad_();
  const Tensor positions = zeros({1, 1000}, {.dtype = int64});
  embedding_bag(positions, weight, {.scale_grad_by_freq = true, .mode = "sum"}).sum().backward();
  EXPECT_EQ(weight.grad().select(0, 0).item<float>(), 1);
}

}  // namespace
}  // namespace tenon
