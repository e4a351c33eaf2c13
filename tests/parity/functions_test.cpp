// Functions of several tensors, beside what PyTorch answered.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "parity/cases.h"
#include "parity/difference.h"

namespace tenon::parity {
namespace {

// The tensors, the words after the name and whether it is in place, and whether it is.
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&, const Line&, bool)>;

Tensors listed(const std::tuple<Tensor, Tensor>& pair) {
  return {std::get<0>(pair), std::get<1>(pair)};
}
Tensors listed(const UniqueResult& result) {
  return {result.output, result.inverse, result.counts};
}
std::int64_t whole(const std::string& word) { return integers(word).at(0); }
std::string_view reduction(const std::string& word) {
  return word == "-" ? std::string_view() : std::string_view(word);
}
std::optional<Scalar> maybe_number(const std::string& word) {
  return word == "-" ? std::nullopt : std::optional(number(word));
}

const std::map<std::string, Function>& functions() {
  using T = const Tensors&;
  using W = const Line&;
  static const std::map<std::string, Function> table{
      {"add",
       [](T t, W w, bool in_place) -> Tensors {
         const AlphaOptions options{.alpha = number(w[0])};
         return {in_place ? t[0].add_(t[1], options) : add(t[0], t[1], options)};
       }},
      {"sub",
       [](T t, W w, bool in_place) -> Tensors {
         const AlphaOptions options{.alpha = number(w[0])};
         return {in_place ? t[0].sub_(t[1], options) : sub(t[0], t[1], options)};
       }},
      {"lerp",
       [](T t, W, bool in_place) -> Tensors {
         return {in_place ? t[0].lerp_(t[1], t[2]) : lerp(t[0], t[1], t[2])};
       }},
      {"lerp_number",
       [](T t, W w, bool in_place) -> Tensors {
         return {in_place ? t[0].lerp_(t[1], number(w[0])) : lerp(t[0], t[1], number(w[0]))};
       }},
      {"addcmul",
       [](T t, W w, bool in_place) -> Tensors {
         const ValueOptions options{.value = number(w[0])};
         return {in_place ? t[0].addcmul_(t[1], t[2], options)
                          : addcmul(t[0], t[1], t[2], options)};
       }},
      {"addcdiv",
       [](T t, W w, bool in_place) -> Tensors {
         const ValueOptions options{.value = number(w[0])};
         return {in_place ? t[0].addcdiv_(t[1], t[2], options)
                          : addcdiv(t[0], t[1], t[2], options)};
       }},
      {"where", [](T t, W, bool) -> Tensors { return {where(t[0], t[1], t[2])}; }},
      {"masked_fill",
       [](T t, W w, bool in_place) -> Tensors {
         return {in_place ? t[0].masked_fill_(t[1], number(w[0]))
                          : masked_fill(t[0], t[1], number(w[0]))};
       }},
      {"masked_select", [](T t, W, bool) -> Tensors { return {masked_select(t[0], t[1])}; }},
      {"clamp",
       [](T t, W w, bool in_place) -> Tensors {
         const ClampOptions options{.min = maybe_number(w[0]), .max = maybe_number(w[1])};
         return {in_place ? clamp_(t[0], options) : clamp(t[0], options)};
       }},
      {"clamp_tensor",
       [](T t, W, bool in_place) -> Tensors {
         const ClampTensorOptions options{.min = t[1], .max = t[2]};
         return {in_place ? clamp_(t[0], options) : clamp(t[0], options)};
       }},
      {"gather", [](T t, W w, bool) -> Tensors { return {gather(t[0], whole(w[0]), t[1])}; }},
      {"index_select",
       [](T t, W w, bool) -> Tensors { return {index_select(t[0], whole(w[0]), t[1])}; }},
      {"take", [](T t, W, bool) -> Tensors { return {take(t[0], t[1])}; }},
      {"take_along_dim",
       [](T t, W w, bool) -> Tensors { return {take_along_dim(t[0], t[1], whole(w[0]))}; }},
      {"nonzero", [](T t, W, bool) -> Tensors { return {nonzero(t[0])}; }},
      {"scatter",
       [](T t, W w, bool in_place) -> Tensors {
         const ScatterOptions options{.reduce = reduction(w[1])};
         return {in_place ? t[0].scatter_(whole(w[0]), t[1], t[2], options)
                          : scatter(t[0], whole(w[0]), t[1], t[2], options)};
       }},
      {"scatter_value",
       [](T t, W w, bool in_place) -> Tensors {
         const ScatterOptions options{.reduce = reduction(w[1])};
         return {in_place ? t[0].scatter_(whole(w[0]), t[1], number(w[2]), options)
                          : scatter(t[0], whole(w[0]), t[1], number(w[2]), options)};
       }},
      {"scatter_add",
       [](T t, W w, bool in_place) -> Tensors {
         return {in_place ? t[0].scatter_add_(whole(w[0]), t[1], t[2])
                          : scatter_add(t[0], whole(w[0]), t[1], t[2])};
       }},
      {"index_add",
       [](T t, W w, bool in_place) -> Tensors {
         const AlphaOptions options{.alpha = number(w[1])};
         return {in_place ? t[0].index_add_(whole(w[0]), t[1], t[2], options)
                          : index_add(t[0], whole(w[0]), t[1], t[2], options)};
       }},
      {"index_copy",
       [](T t, W w, bool in_place) -> Tensors {
         return {in_place ? t[0].index_copy_(whole(w[0]), t[1], t[2])
                          : index_copy(t[0], whole(w[0]), t[1], t[2])};
       }},
      {"index_fill",
       [](T t, W w, bool in_place) -> Tensors {
         return {in_place ? t[0].index_fill_(whole(w[0]), t[1], number(w[1]))
                          : index_fill(t[0], whole(w[0]), t[1], number(w[1]))};
       }},
      {"sort",
       [](T t, W w, bool) {
         return listed(sort(t[0], {.dim = whole(w[0]), .descending = w[1] == "1"}));
       }},
      {"topk",
       [](T t, W w, bool) -> Tensors {
         return {
             std::get<0>(topk(t[0], whole(w[0]), {.dim = whole(w[1]), .largest = w[2] == "1"}))};
       }},
      {"unique",
       [](T t, W w, bool) {
         return listed(unique(
             t[0], {.return_inverse = true, .return_counts = true, .dim = maybe_integer(w[0])}));
       }},
      {"unique_consecutive",
       [](T t, W w, bool) {
         return listed(unique_consecutive(
             t[0], {.return_inverse = true, .return_counts = true, .dim = maybe_integer(w[0])}));
       }},
      {"dot", [](T t, W, bool) -> Tensors { return {dot(t[0], t[1])}; }},
      {"mv", [](T t, W, bool) -> Tensors { return {mv(t[0], t[1])}; }},
      {"mm", [](T t, W, bool) -> Tensors { return {mm(t[0], t[1])}; }},
      {"bmm", [](T t, W, bool) -> Tensors { return {bmm(t[0], t[1])}; }},
      {"matmul", [](T t, W, bool) -> Tensors { return {matmul(t[0], t[1])}; }},
      {"outer", [](T t, W, bool) -> Tensors { return {outer(t[0], t[1])}; }},
      {"round", [](T t, W w, bool) -> Tensors { return {round(t[0], {.decimals = whole(w[0])})}; }},
  };
  return table;
}

bool is_product(const std::string& name) {
  static const std::set<std::string> products{"dot", "mv", "mm", "bmm", "matmul"};
  return products.contains(name);
}

// Sums of products are taken in another order, and of 16-bit numbers in another precision: the
// result is within a rounding of its own, and of each of the additions.
void expect_product(const Tensor& ours, const Line& expected, std::int64_t terms) {
  if (is_integral(ours.dtype())) {
    EXPECT_EQ(difference(ours, expected, 0), "");
    return;
  }
  const Tensor flat = zeros({ours.numel()}, {.dtype = ours.dtype()});
  const auto data = bytes(expected[5]);
  if (!data.empty()) std::memcpy(flat.data_ptr(), data.data(), data.size());
  const Tensor reference = flat.view(ours.shape()).to(complex128);
  const DType real = to_real(ours.dtype());
  const double unit = real == float64   ? 0x1p-52
                      : real == float32 ? 0x1p-23
                      : real == float16 ? 0x1p-10
                                        : 0x1p-7;
  const double sums = (real == float64 ? 0x1p-52 : 0x1p-23) * static_cast<double>(terms + 1) * 64;
  const Tensor apart = abs(ours.to(complex128) - reference);
  EXPECT_TRUE(all(apart <= abs(reference) * unit + sums).item<bool>())
      << amax(apart).item<double>();
}

double tolerance(const std::string& name, const Tensors& tensors, DType dtype) {
  if (is_complex(dtype)) return 64;
  // Where an operand repeats, some of PyTorch's loops do not fuse the last elements: a unit of the
  // product, which may be many of the difference.
  if ((name == "add" || name == "sub") && tensors[0].shape() != tensors[1].shape()) return 64;
  return name == "round" ? 1 : 0;
}

TEST(ParityFunctions, GiveWhatPyTorchGives) {
  for (const Case& one : read_cases("functions")) {
    const Line& op = one.line("op");
    const bool in_place = op[2] == "1";
    Tensors tensors;
    std::string about = one.where + " " + op[1] + (in_place ? "_" : "");
    for (const Line& line : one.all("tensor")) {
      tensors.push_back(make_tensor(line));
      about += " " + line[1] + "[" + line[2] + "]";
    }
    SCOPED_TRACE(about);
    try {
      const Tensors ours = functions().at(op[1])(tensors, Line(op.begin() + 3, op.end()), in_place);
      if (one.has("error")) {
        ADD_FAILURE() << "PyTorch refuses this: " << one.line("error")[1];
        continue;
      }
      const std::vector<Line> expected = one.all("result");
      ASSERT_EQ(ours.size(), expected.size());
      for (std::size_t i = 0; i < ours.size(); ++i) {
        EXPECT_EQ(ours[i].shape(), Shape(integers(expected[i][2])));
        EXPECT_EQ(info(ours[i].dtype()).name, expected[i][1]);
        if (ours[i].numel() > 1) {
          EXPECT_EQ(ours[i].stride(), Dims(integers(expected[i][3])));
        }
        if (ours[i].shape() != Shape(integers(expected[i][2])) ||
            info(ours[i].dtype()).name != expected[i][1]) {
          continue;
        }
        if (is_product(op[1])) {
          expect_product(ours[i], expected[i], tensors[0].dim() == 0 ? 0 : tensors[0].size(-1));
        } else {
          EXPECT_EQ(difference(ours[i], expected[i], tolerance(op[1], tensors, ours[i].dtype())),
                    "");
        }
      }
    } catch (const InternalError& error) {
      FAIL() << error.what();
    } catch (const Error& error) {
      EXPECT_TRUE(one.has("error")) << "PyTorch does this; we say: " << error.what();
    }
  }
}

}  // namespace
}  // namespace tenon::parity
