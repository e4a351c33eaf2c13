// Attention beside PyTorch's, its gradients, its forms, and what it refuses.
#include "tenon/ops/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/near.h"
#include "support/recorded.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using testing::HasSubstr;

// The formula of tests/record/attention.py.
Tensor made(const Shape& shape, double seed, DType dtype = float64) {
  return (sin(arange(shape.numel(), {.dtype = float64}) * 0.37 + seed) * 1.3)
      .reshape(shape)
      .to(dtype);
}

enum class Mask { none, bools, floats, rows };

Tensor mask_of(const Shape& shape, Mask kind) {
  if (kind == Mask::none) return {};
  const Tensor numbers = made(shape, 4);
  if (kind == Mask::floats) return numbers;
  const Tensor keep = numbers > -0.7;
  if (kind == Mask::rows) {
    keep.select(0, 1).fill_(false);
    keep.select(0, 2).narrow(0, 3, 2).fill_(false);
  }
  return keep;
}

struct Case {
  const char* name;
  Shape q, k, v, mask;
  Mask kind = Mask::none;
  AttentionOptions options = {};
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"plain", {2, 3, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 6}, {}},
      {"causal", {2, 2, 6, 4}, {2, 2, 6, 4}, {2, 2, 6, 4}, {}, Mask::none, {.is_causal = true}},
      {"causal_wide",
       {1, 2, 3, 4},
       {1, 2, 6, 4},
       {1, 2, 6, 5},
       {},
       Mask::none,
       {.is_causal = true}},
      {"causal_tall",
       {1, 2, 7, 4},
       {1, 2, 3, 4},
       {1, 2, 3, 4},
       {},
       Mask::none,
       {.is_causal = true}},
      {"bools", {2, 2, 5, 4}, {2, 2, 6, 4}, {2, 2, 6, 4}, {5, 6}, Mask::bools},
      {"bools_of_batch", {2, 2, 5, 4}, {2, 2, 6, 4}, {2, 2, 6, 4}, {2, 1, 1, 6}, Mask::bools},
      {"floats", {2, 2, 5, 4}, {2, 2, 6, 4}, {2, 2, 6, 4}, {2, 5, 6}, Mask::floats},
      {"nothing_seen", {1, 1, 4, 4}, {1, 1, 5, 4}, {1, 1, 5, 4}, {4, 5}, Mask::rows},
      {"scaled", {3, 5, 4}, {3, 7, 4}, {3, 7, 4}, {}, Mask::none, {.scale = 0.3}},
      {"matrices", {5, 4}, {7, 4}, {7, 3}, {}},
      {"grouped", {2, 6, 4, 4}, {2, 3, 5, 4}, {2, 3, 5, 4}, {}, Mask::none, {.enable_gqa = true}},
      {"grouped_masked",
       {2, 6, 4, 4},
       {2, 2, 5, 4},
       {2, 2, 5, 4},
       {2, 6, 4, 5},
       Mask::floats,
       {.enable_gqa = true}},
      {"grouped_apart",
       {2, 6, 4, 4},
       {2, 3, 5, 4},
       {2, 2, 5, 4},
       {},
       Mask::none,
       {.enable_gqa = true}},
      {"broadcast", {2, 3, 4, 4}, {1, 1, 5, 4}, {3, 5, 4}, {}},
      {"many_dims",
       {2, 1, 2, 3, 4, 4},
       {2, 1, 2, 3, 5, 4},
       {2, 1, 2, 3, 5, 4},
       {},
       Mask::none,
       {.is_causal = true}},
      {"long", {1, 1, 200, 4}, {1, 1, 1100, 4}, {1, 1, 1100, 3}, {}},
      {"long_causal",
       {1, 1, 1100, 4},
       {1, 1, 1100, 4},
       {1, 1, 1100, 3},
       {},
       Mask::none,
       {.is_causal = true}},
  };
  return all;
}

class RecordedAttention : public testing::TestWithParam<DType> {
 protected:
  const StateDict recorded = recorded::value("ops/cases/attention");

  void expect_near(const Tensor& actual, const std::string& key, double tolerance) const {
    Tensor expected = recorded.at(key).as_tensor();
    Tensor picked = actual.detach().to(float64);
    if (key.starts_with("long")) picked = picked.index({Ellipsis, Slice({}, {}, 37), Slice()});
    // Over many keys little is left of the values; rounding is that of the values.
    tenon::expect_near(picked, expected, key, tolerance, 0.1);
  }
};

TEST_P(RecordedAttention, IsThatOfPyTorchWithItsGradients) {
  const DType dtype = GetParam();
  const double tolerance = dtype == float64 ? 1e-12 : dtype == float32 ? 2e-6 : 0.03;
  for (const Case& one : cases()) {
    const Tensor q = made(one.q, 0, dtype).requires_grad_();
    const Tensor k = made(one.k, 1, dtype).requires_grad_();
    const Tensor v = made(one.v, 2, dtype).requires_grad_();
    AttentionOptions options = one.options;
    options.attn_mask = mask_of(one.mask, one.kind);
    if (one.kind == Mask::floats) options.attn_mask = options.attn_mask.to(dtype);
    const Tensor out = scaled_dot_product_attention(q, k, v, options);
    EXPECT_EQ(out.dtype(), dtype);
    const std::string name = one.name;
    expect_near(out, name + ".out", tolerance);
    out.backward({.gradient = made(out.shape(), 3, dtype)});
    expect_near(q.grad(), name + ".q", tolerance * 2);
    expect_near(k.grad(), name + ".k", tolerance * 2);
    expect_near(v.grad(), name + ".v", tolerance * 2);
  }
}
INSTANTIATE_TEST_SUITE_P(Attention, RecordedAttention,
                         testing::Values(float32, float64, bfloat16, float16));

TEST(Attention, HasTheGradientsThatDifferencesSay) {
  for (const Case& one : cases()) {
    if (Shape(one.q).numel() > 300) continue;
    AttentionOptions options = one.options;
    options.attn_mask = mask_of(one.mask, one.kind);
    const auto f = [&](const std::vector<Tensor>& at) {
      return scaled_dot_product_attention(at[0], at[1], at[2], options);
    };
    SCOPED_TRACE(one.name);
    const std::vector<Tensor> inputs{made(one.q, 0).requires_grad_(),
                                     made(one.k, 1).requires_grad_(),
                                     made(one.v, 2).requires_grad_()};
    expect_gradient(f, inputs);
  }
}

TEST(Attention, CanBeRunBackwardsTwice) {
  const Tensor mask = mask_of({3, 4}, Mask::bools);
  for (const AttentionOptions& options :
       {AttentionOptions{}, AttentionOptions{.is_causal = true},
        AttentionOptions{.attn_mask = mask}, AttentionOptions{.scale = 0.7}}) {
    expect_gradients(
        [&](const std::vector<Tensor>& at) {
          return scaled_dot_product_attention(at[0], at[1], at[2], options);
        },
        {made({2, 3, 2}, 0).requires_grad_(), made({2, 4, 2}, 1).requires_grad_(),
         made({2, 4, 3}, 2).requires_grad_()});
  }
}

TEST(Attention, TakesAnyStrides) {
  const auto f = [](const std::vector<Tensor>& at) {
    return scaled_dot_product_attention(at[0].transpose(1, 2), at[1].mT(),
                                        at[2].index({Ellipsis, Slice({}, {}, 2)}));
  };
  expect_gradient(f,
                  {made({2, 3, 2, 4}, 0).requires_grad_(), made({2, 2, 4, 5}, 1).requires_grad_(),
                   made({2, 2, 5, 6}, 2).requires_grad_()});
  const Tensor q = made({2, 3, 2, 4}, 0), k = made({2, 2, 4, 5}, 1), v = made({2, 2, 5, 6}, 2);
  const Tensor strided = f({q, k, v});
  const Tensor packed =
      scaled_dot_product_attention(q.transpose(1, 2).contiguous(), k.mT().contiguous(),
                                   v.index({Ellipsis, Slice({}, {}, 2)}).contiguous());
  EXPECT_TRUE(allclose(strided, packed, {.rtol = 0, .atol = 1e-14}));
  // Heads lie as they did: nothing is copied when they are put side by side.
  EXPECT_TRUE(strided.transpose(1, 2).is_contiguous());
}

// A mask that requires grad is calculated with operators.
TEST(Attention, IsTheSameInBlocksAsInOperators) {
  auto pick = [state = std::uint64_t{1}](std::int64_t n) mutable {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(n));
  };
  for (int round = 0; round < 60; ++round) {
    const std::int64_t b = 1 + pick(3), h = 1 + pick(3), queries = 1 + pick(90),
                       keys = 1 + pick(600), e = 1 + pick(9), ev = 1 + pick(9);
    // Rows of heads, heads of rows, every second column, and one for all.
    const auto laid_out = [&](std::int64_t rows, std::int64_t columns, double seed) {
      switch (pick(5)) {
        case 0: return made({b, rows, h, columns}, seed).transpose(1, 2);
        case 1: return made({b, h, columns, rows}, seed).mT();
        case 2: return made({b, h, rows, 2 * columns}, seed).index({Ellipsis, Slice({}, {}, 2)});
        case 3: return made({1, 1, rows, columns}, seed).expand({b, h, rows, columns});
        default: return made({b, h, rows, columns}, seed);
      }
    };
    const Tensor q = laid_out(queries, e, 0), k = laid_out(keys, e, 1), v = laid_out(keys, ev, 2);
    const Tensor mask = made({pick(2) == 0 ? 1 : b, 1, queries, keys}, 3);
    const Tensor kept = pick(2) == 0 ? mask : mask.clone().masked_fill_(mask < -0.9, -1e300);
    const Tensor in_blocks = scaled_dot_product_attention(q, k, v, {.attn_mask = kept});
    const Tensor in_operators =
        scaled_dot_product_attention(q, k, v, {.attn_mask = kept.clone().requires_grad_()});
    ASSERT_TRUE(allclose(in_blocks, in_operators.detach(), {.rtol = 0, .atol = 1e-12})) << round;
    const Tensor narrow = scaled_dot_product_attention(q.to(float32), k.to(float32), v.to(float32),
                                                       {.attn_mask = mask.to(float32)});
    const Tensor exact = scaled_dot_product_attention(q, k, v, {.attn_mask = mask});
    ASSERT_TRUE(allclose(narrow.to(float64), exact, {.rtol = 0, .atol = 3e-6})) << round;
  }
}

TEST(Attention, HasAGradientOfItsMask) {
  expect_gradients(
      [](const std::vector<Tensor>& at) {
        return scaled_dot_product_attention(at[0], at[1], at[2], {.attn_mask = at[3]});
      },
      {made({2, 3, 2}, 0).requires_grad_(), made({2, 4, 2}, 1).requires_grad_(),
       made({2, 4, 3}, 2).requires_grad_(), made({3, 4}, 3).requires_grad_()});
}

TEST(Attention, GivesZerosAndNoGradientWhereNothingIsSeen) {
  const float nothing = -std::numeric_limits<float>::infinity();
  const Tensor q = made({1, 3, 4}, 0, float32).requires_grad_();
  const Tensor kv = made({1, 5, 4}, 1, float32).requires_grad_();
  const Tensor bools = zeros({3, 5}, {.dtype = bool_});
  for (const Tensor& mask : {bools, full({3, 5}, nothing)}) {
    const Tensor out = scaled_dot_product_attention(q, kv, kv, {.attn_mask = mask});
    EXPECT_TRUE(equal(out, zeros({1, 3, 4})));
    out.sum().backward();
    EXPECT_TRUE(equal(q.grad(), zeros({1, 3, 4})));
    EXPECT_TRUE(equal(kv.grad(), zeros({1, 5, 4})));
  }
  EXPECT_TRUE(
      equal(scaled_dot_product_attention(q, zeros({1, 0, 4}), zeros({1, 0, 2})), zeros({1, 3, 2})));
  EXPECT_EQ(scaled_dot_product_attention(zeros({2, 0, 4}), kv, kv).shape(), Shape({2, 0, 4}));
  EXPECT_EQ(scaled_dot_product_attention(zeros({0, 3, 4}), kv, kv).shape(), Shape({0, 3, 4}));
  EXPECT_TRUE(equal(scaled_dot_product_attention(zeros({3, 0}), zeros({4, 0}), ones({4, 2})),
                    ones({3, 2})));
}

TEST(Attention, LetsNaNThrough) {
  Tensor q = made({1, 3, 4}, 0, float32);
  q.select(1, 1).select(1, 2).fill_(std::numeric_limits<float>::quiet_NaN());
  const Tensor kv = made({1, 5, 4}, 1, float32);
  const Tensor out = scaled_dot_product_attention(q, kv, kv, {.is_causal = true});
  EXPECT_TRUE(out.select(1, 1).isnan().all().item<bool>());
  EXPECT_FALSE(out.select(1, 0).isnan().any().item<bool>());
  EXPECT_FALSE(out.select(1, 2).isnan().any().item<bool>());
}

TEST(Attention, IsTheSameOnAnyNumberOfThreads) {
  const Tensor q = made({3, 4, 70, 16}, 0, float32).requires_grad_();
  const Tensor kv = made({3, 4, 600, 16}, 1, float32).requires_grad_();
  const int before = get_num_threads();
  std::vector<Tensor> outs, grads;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    q.set_grad({});
    outs.push_back(scaled_dot_product_attention(q, kv, kv));
    outs.back().sum().backward();
    grads.push_back(q.grad());
  }
  set_num_threads(before);
  EXPECT_TRUE(equal(outs[0], outs[1]) && equal(outs[0], outs[2]));
  EXPECT_TRUE(equal(grads[0], grads[1]) && equal(grads[0], grads[2]));
}

TEST(Attention, DrawsDropoutAsPyTorchDoes) {
  const Tensor q = made({1, 2, 3, 4}, 0, float32), kv = made({1, 2, 5, 4}, 1, float32);
  manual_seed(7);
  const Tensor out = scaled_dot_product_attention(q, kv, kv, {.dropout_p = 0.5});
  const Tensor expected = tensor({{0.9864269F, 1.074412F, 1.01698F, 0.8219052F},
                                  {0.1071801F, 0.05015169F, -0.01366446F, -0.0756312F},
                                  {-0.6387757F, -0.9445339F, -1.122454F, -1.148455F},
                                  {-0.6725396F, -1.120281F, -1.416398F, -1.520812F},
                                  {0.268318F, 0.5958621F, 0.8427589F, 0.9755924F},
                                  {0.2700395F, 0.599685F, 0.8481658F, 0.9818515F}});
  EXPECT_TRUE(allclose(out.reshape({6, 4}), expected, {.rtol = 1e-5, .atol = 1e-6}));
  EXPECT_TRUE(equal(scaled_dot_product_attention(q, kv, kv, {.dropout_p = 1}), zeros_like(q)));
}

TEST(Attention, TakesAMaskOfFloatsForNarrowNumbers) {
  const Tensor q = made({2, 3, 4}, 0, bfloat16), kv = made({2, 5, 4}, 1, bfloat16);
  const Tensor mask = made({3, 5}, 2, float32);
  const Tensor exact = scaled_dot_product_attention(q.to(float32), kv.to(float32), kv.to(float32),
                                                    {.attn_mask = mask});
  // Rounded once, at the end.
  EXPECT_TRUE(
      equal(scaled_dot_product_attention(q, kv, kv, {.attn_mask = mask}), exact.to(bfloat16)));
}

TEST(Attention, WorksOnMeta) {
  const Tensor q = empty({2, 3, 5, 4}, {.device = "meta"}),
               k = empty({2, 3, 7, 4}, {.device = "meta"});
  const Tensor out = scaled_dot_product_attention(q, k, k, {.is_causal = true});
  EXPECT_TRUE(out.is_meta());
  EXPECT_EQ(out.shape(), Shape({2, 3, 5, 4}));
}

TEST(Attention, IsRecordedUnderPyTorchsName) {
  const Tensor q = made({1, 1, 3, 4}, 0).requires_grad_();
  EXPECT_EQ(scaled_dot_product_attention(q, q, q).grad_fn()->name(),
            "ScaledDotProductFlashAttentionForCpuBackward0");
}

TEST(Attention, SaysWhatDoesNotFit) {
  const Tensor q = zeros({2, 3, 5, 4}), k = zeros({2, 3, 7, 4});
  const auto attend = [&](const Tensor& a, const Tensor& b, const Tensor& c,
                          const AttentionOptions& options = {}) {
    return [=] { scaled_dot_product_attention(a, b, c, options); };
  };
  expect_error<ShapeError>(attend(zeros({4}), k, k), "at least 2 dimensional");
  expect_error<ShapeError>(attend(q, zeros({2, 3, 7, 5}), k),
                           "query of shape [2, 3, 5, 4] has 4 features but key of shape "
                           "[2, 3, 7, 5] has 5");
  expect_error<ShapeError>(attend(q, k, zeros({2, 3, 6, 4})), "7 keys");
  expect_error<ShapeError>(attend(q, zeros({2, 2, 7, 4}), zeros({2, 2, 7, 4})), "[2, 3]");
  expect_error<DTypeError>(attend(q, k.to(float64), k), "the same dtype");
  expect_error<NotImplementedError>(attend(q.to(int64), k.to(int64), k.to(int64)),
                                    "scaled_dot_product_attention");
  expect_error<DeviceError>(attend(q, k.to(Device("meta")), k), "meta");
  expect_error<ValueError>(attend(q, k, k, {.attn_mask = zeros({5, 7}), .is_causal = true}),
                           "Explicit attn_mask should not be set when is_causal=True");
  expect_error<DTypeError>(attend(q, k, k, {.attn_mask = zeros({5, 7}, {.dtype = float64})}),
                           "attn_mask of torch.float64 and query of torch.float32");
  expect_error<ShapeError>(attend(q, k, k, {.attn_mask = zeros({4, 7})}),
                           "attn_mask of shape [4, 7] cannot be added to scores of shape "
                           "[2, 3, 5, 7]");
  expect_error<ValueError>(attend(q, k, k, {.dropout_p = 1.5}), "between 0 and 1, but got 1.5");
  expect_error<ShapeError>(attend(zeros({2, 5, 5, 4}), k, k, {.enable_gqa = true}),
                           "there are 3 and 3 for 5");
  expect_error<ShapeError>(attend(zeros({5, 4}), k, k, {.enable_gqa = true}), "dimension -3");
}

}  // namespace
}  // namespace tenon
