// Functions of one and of two tensors, beside what PyTorch answered.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "parity/cases.h"
#include "parity/difference.h"
#include "tenon/detail/function_names.h"

namespace tenon::parity {
namespace {

struct UnaryForms {
  std::function<Tensor(const Tensor&)> fresh;
  std::function<Tensor(const Tensor&)> in_place = {};
};
struct BinaryForms {
  std::function<Tensor(const Tensor&, const Tensor&)> fresh;
  std::function<Tensor(const Tensor&, const Scalar&)> with_number;
  std::function<Tensor(const Tensor&, const Tensor&)> in_place = {};
  std::function<Tensor(const Tensor&, const Scalar&)> with_number_in_place = {};
};

const std::map<std::string, UnaryForms>& unary_functions() {
#define TENON_ROW(name, node, result, kernel, autocast, forms) \
  {#name,                                                      \
   {.fresh = [](const Tensor& a) { return name(a); },          \
    TENON_IF_##forms(.in_place = [](const Tensor& a) { return a.name##_(); })}},
  static const std::map<std::string, UnaryForms> table{TENON_UNARY_FUNCTIONS(TENON_ROW)};
#undef TENON_ROW
  return table;
}

const std::map<std::string, BinaryForms>& binary_functions() {
#define TENON_IN_PLACE(name)                                                 \
  .in_place = [](const Tensor& a, const Tensor& b) { return a.name##_(b); }, \
  .with_number_in_place = [](const Tensor& a, const Scalar& b) { return a.name##_(b); },
#define TENON_ROW(name, node, result, kernel, autocast, forms)                  \
  {#name,                                                                       \
   {.fresh = [](const Tensor& a, const Tensor& b) { return name(a, b); },       \
    .with_number = [](const Tensor& a, const Scalar& b) { return name(a, b); }, \
    TENON_IF_##forms(TENON_IN_PLACE(name))}},
  static const std::map<std::string, BinaryForms> table{TENON_BINARY_FUNCTIONS(TENON_ROW)};
#undef TENON_ROW
#undef TENON_IN_PLACE
  return table;
}

// Units in the last place that answers may be apart. Where nothing is said they are equal: these
// are the functions that PyTorch takes from other libraries than ours.
double tolerance(const std::string& name, DType dtype) {
  static const std::set<std::string> close{
      "exp",   "exp2",    "expm1", "log",  "log2", "log10", "log1p", "sin",   "cos",
      "tan",   "asin",    "acos",  "atan", "sinh", "cosh",  "tanh",  "asinh", "acosh",
      "atanh", "sigmoid", "erf",   "erfc", "pow",  "atan2", "hypot", "rsqrt", "xlogy"};
  if (name == "sqrt") return 1;      // MKL's is not always the nearest
  if (is_complex(dtype)) return 64;  // products and quotients are in another order in vectors
  if (name == "erfinv" || name == "lgamma" || name == "digamma" || name.starts_with("logadd"))
    return 64;
  // A unit of the exponent is as many of the result as its logarithm is, which is 88 at most.
  if (name == "pow") return 96;
  return close.contains(name) ? 4 : 0;
}

TEST(ParityArithmetic, FunctionsGiveWhatPyTorchGives) {
  for (const Case& one : read_cases("arithmetic")) {
    const Line& op = one.line("op");
    const std::string what = one.where + " " + op[1] + " " + op[2] + (op[3] == "1" ? "_" : "");
    std::vector<Tensor> tensors;
    std::string dtypes;
    for (const Line& line : one.all("tensor")) {
      tensors.push_back(make_tensor(line));
      dtypes += " " + line[1];
    }
    SCOPED_TRACE(what + dtypes);
    try {
      Tensor ours;
      const bool in_place = op[3] == "1";
      if (op[1] == "unary") {
        const UnaryForms& forms = unary_functions().at(op[2]);
        ours = (in_place ? forms.in_place : forms.fresh)(tensors[0]);
      } else {
        const BinaryForms& forms = binary_functions().at(op[2]);
        ours = op[1] == "binary" ? (in_place ? forms.in_place : forms.fresh)(tensors[0], tensors[1])
                                 : (in_place ? forms.with_number_in_place : forms.with_number)(
                                       tensors[0], number(op[4]));
      }
      if (one.has("error")) {
        ADD_FAILURE() << "PyTorch refuses this: " << op[2] << dtypes << " " << one.line("error")[1];
        continue;
      }
      const Line& expected = one.line("result");
      // The strides of one element say nothing, and differ from function to function in PyTorch.
      EXPECT_EQ(ours.shape(), Shape(integers(expected[2])));
      if (ours.numel() > 1) {
        EXPECT_EQ(ours.stride(), Dims(integers(expected[3])));
      }
      EXPECT_EQ(info(ours.dtype()).name, expected[1]);
      if (info(ours.dtype()).name != expected[1]) continue;
      EXPECT_EQ(
          difference(ours, expected,
                     tolerance(op[2], tensors[0].is_complex() ? tensors[0].dtype() : ours.dtype())),
          "")
          << op[2] << dtypes;
    } catch (const InternalError& error) {
      FAIL() << error.what();
    } catch (const Error& error) {
      EXPECT_TRUE(one.has("error")) << "PyTorch does this; we say: " << error.what();
    }
  }
}

TEST(ParityArithmetic, EveryFunctionIsCompared) {
  std::set<std::string> compared;
  for (const Case& one : read_cases("arithmetic")) compared.insert(one.line("op")[2]);
  for (const auto& entry : unary_functions())
    EXPECT_TRUE(compared.contains(entry.first)) << entry.first;
  for (const auto& entry : binary_functions())
    EXPECT_TRUE(compared.contains(entry.first)) << entry.first;
}

}  // namespace
}  // namespace tenon::parity
