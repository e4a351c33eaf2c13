// What layers calculate, beside what PyTorch answered.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "parity/cases.h"
#include "parity/difference.h"
#include "parity/words.h"

namespace tenon::parity {
namespace {

using Tensors = std::vector<Tensor>;

Tensor run(const std::string& kind, const Tensors& t, const Words& words) {
  const auto at = [&](std::size_t i) { return i < t.size() ? t[i] : Tensor(); };
  if (kind == "linear") return linear(t[0], t[1], at(2));
  if (kind == "addmm")
    return addmm(t[0], t[1], t[2],
                 {.beta = words.scalar("beta", 1), .alpha = words.scalar("alpha", 1)});
  if (kind == "bilinear") return bilinear(t[0], t[1], t[2], at(3));
  if (kind == "embedding") {
    EmbeddingFunctionOptions options{.norm_type = words.real("norm_type", 2)};
    if (words.has("padding_idx")) options.padding_idx = words.whole("padding_idx", 0);
    if (words.has("max_norm")) options.max_norm = words.real("max_norm", 0);
    return embedding(t[0], t[1], options);
  }
  if (kind == "dropout") {
    manual_seed(static_cast<std::uint64_t>(words.whole("seed", 0)));
    return dropout(t[0], {.p = words.real("p", 0.5),
                          .training = words.whole("training", 1) == 1,
                          .inplace = words.whole("inplace", 0) == 1});
  }
  throw Error("nobody knows how to calculate '" + kind + "'");
}

Tensor elements(const Line& result) {
  const Tensor flat = zeros({Shape(integers(result[2])).numel()}, {.dtype = dtype(result[1])});
  const auto data = bytes(result[5]);
  if (!data.empty()) std::memcpy(flat.data_ptr(), data.data(), data.size());
  return flat.view(Shape(integers(result[2])));
}

// What the same sum of magnitudes is: how far off all the roundings together may be.
Tensor magnitude(const std::string& kind, const Tensors& tensors, const Words& words) {
  Tensors sizes;
  for (const Tensor& t : tensors) sizes.push_back(abs(t).to(float64));
  if (kind != "addmm") return run(kind, sizes, words);
  const double beta = std::abs(words.real("beta", 1)), alpha = std::abs(words.real("alpha", 1));
  return addmm(sizes[0], sizes[1], sizes[2], {.beta = beta, .alpha = alpha});
}

// Sums of products are taken in another order. Of 16-bit numbers they are rounded at the end; in a
// bilinear one, and in PyTorch where the input is no matrix, also in between.
void expect_sum(const std::string& kind, const Tensors& tensors, const Words& words,
                const Tensor& ours, const Line& expected) {
  if (is_integral(ours.dtype())) {
    EXPECT_EQ(difference(ours, expected, 0), "");
    return;
  }
  const DType real = to_real(ours.dtype());
  const double unit = real == float64   ? 0x1p-52
                      : real == float32 ? 0x1p-23
                      : real == float16 ? 0x1p-10
                                        : 0x1p-7;
  const bool once =
      kind == "addmm" || (kind == "linear" && tensors[0].dim() == 2 && tensors[1].dim() == 2);
  const double carried = once ? std::min(unit, 0x1p-23) : unit;
  // The smallest numbers of a dtype are further apart than a unit of them.
  const double smallest = real == float16 ? 0x1p-23 : 0;
  const Tensor theirs = elements(expected).to(complex128);
  const Tensor apart = abs(ours.to(complex128) - theirs),
               allowed = abs(theirs) * unit + magnitude(kind, tensors, words) * (carried * 8);
  EXPECT_TRUE(all(apart <= allowed + smallest).item<bool>())
      << (apart.numel() != 0 ? amax(apart).item<double>() : 0);
}

void compare(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    const Line& op = one.line("op");
    Tensors tensors;
    std::string about = one.where + " " + op[1];
    for (const Line& line : one.all("tensor")) {
      tensors.push_back(make_tensor(line));
      about += " " + line[1] + "[" + line[2] + "]";
    }
    SCOPED_TRACE(about);
    const Words words(op.begin() + 2, op.end());
    try {
      const Tensor ours = run(op[1], tensors, words);
      EXPECT_FALSE(one.has("error")) << "PyTorch refuses this: " << op[1];
      if (one.has("error")) continue;
      const std::vector<Line> results = one.all("result");
      ASSERT_EQ(ours.shape(), Shape(integers(results[0][2])));
      ASSERT_EQ(info(ours.dtype()).name, results[0][1]);
      if (ours.numel() > 1) {
        EXPECT_EQ(ours.stride(), Dims(integers(results[0][3])));
      }
      if (op[1] == "linear" || op[1] == "addmm" || op[1] == "bilinear") {
        expect_sum(op[1], tensors, words, ours, results[0]);
        continue;
      }
      // A row that was scaled: its norm is carried in double here.
      const double units = words.has("max_norm") ? 8 : 0;
      EXPECT_EQ(difference(ours, results[0], units), "");
      if (results.size() < 2) continue;
      EXPECT_EQ(difference(tensors[op[1] == "embedding" ? 1 : 0], results[1], units), "");
    } catch (const InternalError& error) {
      ADD_FAILURE() << error.what();
    } catch (const Error& error) {
      EXPECT_TRUE(one.has("error")) << "PyTorch does this; we say: " << error.what();
    }
  }
}

TEST(ParityLayers, CalculateWhatPyTorchCalculates) { compare(read_cases("layers")); }

TEST(ParityLayers, CalculateWhatPyTorch211Calculated) { compare(read_cases("layers_2_11", 4)); }

}  // namespace
}  // namespace tenon::parity
