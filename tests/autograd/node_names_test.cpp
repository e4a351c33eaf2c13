// The names of nodes, which people print and compare: those that PyTorch gives.
#include <map>
#include <string>

#include "support/matchers.h"
#include "support/recorded.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

// What the calls are of, under the names they use. The same as in tests/record/node_names.py.
struct Arguments {
  static Tensor numbers(const Shape& shape, double step, double from) {
    return (arange(shape.numel(), {.dtype = float64}) * step + from)
        .reshape(shape)
        .detach()
        .requires_grad_();
  }
  Tensor x = numbers({2, 3}, 0.13, 0.1), y = numbers({2, 3}, 0.11, 0.2);
  Tensor s = numbers({2, 2}, 0, 1), v = numbers({3}, 0, 1), w = numbers({4, 3}, 0, 1);
  Tensor u = numbers({4}, 0, 1), b = numbers({2, 3, 3}, 0, 1), p = numbers({1, 4, 4, 4}, 0, 1);
  Tensor q = numbers({2, 4, 3, 3}, 0, 1), h = numbers({2, 3}, 0, 0.5);
  Tensor d = numbers({2, 2, 2, 2, 2}, 0, 1), z = numbers({4, 3, 3}, 0, 1);
  Tensor n = zeros({1, 4, 4}, {.dtype = int64});
  Tensor m = tensor({{true, false, true}, {false, true, true}});
  Tensor i = tensor({{0, 1, 2}, {2, 0, 1}}), k = tensor({0, 1}), r = tensor({0, 1});
  Tensor l = tensor({{0, 1, -1}, {2, -1, 0}});
};
#define TENON_NAMES(a)                                                                      \
  [[maybe_unused]] const Tensor &x = a.x, &y = a.y, &s = a.s, &v = a.v, &w = a.w, &u = a.u, \
                                &b = a.b, &p = a.p, &q = a.q, &h = a.h, &m = a.m, &i = a.i, \
                                &k = a.k, &r = a.r, &l = a.l, &d = a.d, &z = a.z, &n = a.n

struct Call {
  const char* text;
  Tensor (*run)(const Arguments& a);
};

#define TENON_CALL(...)                             \
  {#__VA_ARGS__, [](const Arguments& a) -> Tensor { \
     TENON_NAMES(a);                                \
     return __VA_ARGS__;                            \
   }}
#include "node_calls.h"

// On purpose, as docs/divergences.md says.
const std::map<std::string, std::string> kOthers = {
    {"diag(x)", "CloneBackward0"},
    {"baddbmm(b, b, b)", "AddBackward0"},
    {"addmv(u.narrow(0, 0, 2), x, v)", "AddBackward0"},
    {"kron(x, y)", "ViewBackward0"},
    {"bilinear(x, x, z)", "UnsafeViewBackward0"},
    {"rms_norm(x, {3})", "FusedRmsNormBackward0"},
    {"einsum(\"ij,kj->ik\", x, y)", "SqueezeBackward1"},
};

TEST(NodeNames, AreThoseOfPyTorch) {
  const Arguments arguments;
  const auto rows = recorded::rows("autograd/cases/node_names", 300);
  ASSERT_EQ(rows.size(), std::size(kCalls));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string &node = rows[i].at(0), &text = rows[i].at(1);
    ASSERT_EQ(kCalls[i].text, text);
    const Tensor result = kCalls[i].run(arguments);
    ASSERT_TRUE(result.grad_fn()) << text;
    const auto other = kOthers.find(text);
    EXPECT_EQ(result.grad_fn()->name(), other == kOthers.end() ? node : other->second) << text;
    if (other != kOthers.end()) {
      EXPECT_NE(other->second, node) << text << " is the same";
    }
  }
}

}  // namespace
}  // namespace tenon
