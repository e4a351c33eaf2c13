// Random numbers: the same seed, the same bits.
#include <gtest/gtest.h>

#include <charconv>

#include "parity/cases.h"
#include "support/sha256.h"

namespace tenon::parity {
namespace {

constexpr double kBound = 0.57735026918962573;  // of the recorded uniform_ calls

// "rand17" and "randn1000" are sizes behind a name.
std::optional<std::int64_t> size_behind(const std::string& kind, const std::string& name) {
  if (!kind.starts_with(name)) return std::nullopt;
  std::int64_t size = 0;
  const char* end = kind.data() + kind.size();
  const auto read = std::from_chars(kind.data() + name.size(), end, size);
  return read.ec == std::errc() && read.ptr == end ? std::optional(size) : std::nullopt;
}

// What a recorded kind is, drawn here.
Tensor draw(const std::string& kind, std::int64_t n) {
  const auto of = [&](DType dtype) { return empty({n}, {.dtype = dtype}); };
  if (kind == "randf32") return rand({n});
  if (kind == "unif_f32") return of(float32).uniform_(-kBound, kBound);
  if (kind == "unif2_f32") return of(float32).uniform_(-0.3, 1.7);
  if (kind == "randf64") return rand({n}, {.dtype = float64});
  if (kind == "unif_f64") return of(float64).uniform_(-kBound, kBound);
  if (kind == "randf16") return rand({n}, {.dtype = float16});
  if (kind == "unif_f16") return of(float16).uniform_(-kBound, kBound);
  if (kind == "randbf16") return rand({n}, {.dtype = bfloat16});
  if (kind == "unif_bf16") return of(bfloat16).uniform_(-kBound, kBound);
  if (kind == "randn_f32") return randn({n});
  if (kind == "norm_f32") return of(float32).normal_(0.5, 1.3);
  if (kind == "randn_f64" && n != 0) return randn({n}, {.dtype = float64});
  if (kind == "norm_f64") return of(float64).normal_(0.5, 1.3);
  if (kind == "randn_bf16") return randn({n}, {.dtype = bfloat16});
  if (kind == "randn_f16") return randn({n}, {.dtype = float16});
  if (kind == "randperm") return randperm(n != 0 ? n : 50);
  if (kind == "randint") return n != 0 ? randint(10, {n}) : randint(1000, {50});
  if (kind == "random_") return of(int64).random_();
  if (kind == "bern") return of(float32).bernoulli_(0.3);
  if (kind == "bernoulli") return empty({50}).bernoulli_(0.3);
  if (kind == "strided_norm") return empty({8, 10}).slice(1, {}, {}, 2).normal_();
  if (kind == "cache") {
    const Tensor a = randn({3}), b = randn({20}), c = randn({3});
    return cat({a, b, c});
  }
  if (kind == "rand_f64") return rand({40}, {.dtype = float64});
  if (kind == "randn_f64") return randn({40}, {.dtype = float64});
  if (kind == "randn_f64_5") return randn({5}, {.dtype = float64});
  if (kind == "two_in_a_row") {
    const Tensor a = randn({3}), b = rand({4}), c = randn({17}), d = randn({2});
    return cat({a, b, c, d});
  }
  if (kind == "fn.xavier_uniform") return nn::init::xavier_uniform_(empty({6, 9}));
  if (kind == "fn.xavier_normal") return nn::init::xavier_normal_(empty({6, 9}));
  if (kind == "fn.kaiming_normal") return nn::init::kaiming_normal_(empty({6, 9}));
  if (kind == "uniform_range") return empty({100}).uniform_(-0.3, 0.7);
  if (kind == "normal_range") return empty({100}).normal_(2, 0.02);
  if (const auto size = size_behind(kind, "randn")) return randn({*size});
  if (const auto size = size_behind(kind, "rand")) return rand({*size});
  throw Error("nobody knows how to draw '" + kind + "'");
}

TEST(ParityRandom, RecordedStreamsAreDrawnAgain) {
  int drawn = 0;
  for (const Case& one : read_cases("random")) {
    const Line& op = one.line("op");
    manual_seed(std::stoull(op[3]));
    const Tensor ours = draw(op[2], std::stoll(op[4]));
    EXPECT_EQ(sha256(bytes(element_hex(ours))), one.line("sha256")[1])
        << op[2] << " seed " << op[3];
    ++drawn;
  }
  EXPECT_EQ(drawn, 19 * 70 + 2 * 5 + 3 * 30);
}

Tensor drawn_into(const Tensor& t, const Line& op) {
  const std::string& kind = op[1];
  const auto real = [&](std::size_t i) { return number(op[i + 4]).to<double>(); };
  const auto whole = [&](std::size_t i) { return number(op[i + 4]).to<std::int64_t>(); };
  if (kind == "uniform") return t.uniform_(real(0), real(1));
  if (kind == "normal") return t.normal_(real(0), real(1));
  if (kind == "exponential") return t.exponential_(real(0));
  if (kind == "cauchy") return t.cauchy_(real(0), real(1));
  if (kind == "log_normal") return t.log_normal_(real(0), real(1));
  if (kind == "geometric") return t.geometric_(real(0));
  if (kind == "bernoulli") return t.bernoulli_(real(0));
  if (kind == "bernoulli_tensor")
    return t.bernoulli_(t.dim() != 0 ? linspace(0, 1, t.size(-1)) : tensor(0.5));
  if (kind == "random") return t.random_();
  if (kind == "random_to") return t.random_(whole(0));
  if (kind == "random_from") return t.random_(whole(0), whole(1));
  if (kind == "random_open") return t.random_(whole(0), std::nullopt);
  if (kind == "randperm") return randperm(whole(0), {.dtype = t.dtype()});
  throw Error("nobody knows how to draw '" + kind + "'");
}

TEST(ParityRandom, EveryOperatorDrawsWhatPyTorchDrawsAndLeavesTheSameState) {
  for (const Case& one : read_cases("draws")) {
    SCOPED_TRACE(one.where);
    const Line& op = one.line("op");
    const Tensor t = make_tensor(one.line("tensor"));
    manual_seed(std::stoull(op[2]));
    if (op[3] == "1") randn({1});
    try {
      const Tensor ours = drawn_into(t, op);
      EXPECT_FALSE(one.has("error")) << "PyTorch refuses this: " << op[1];
      if (one.has("error")) continue;
      EXPECT_EQ(storage_hex(ours), one.line("storage")[1]) << op[1] << " " << one.line("tensor")[1];
      EXPECT_EQ(sha256(bytes(element_hex(get_rng_state()))), one.line("state")[1]) << op[1];
    } catch (const Error& error) {
      EXPECT_TRUE(one.has("error")) << "PyTorch does this; we say: " << error.what();
    }
  }
}

}  // namespace
}  // namespace tenon::parity
