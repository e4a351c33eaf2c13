// expect: gradient
// An operator says what its gradient is, or that it has none.
#include <tenon/extend.h>
#include <tenon/tenon.h>

struct scale_by {
  using Signature = tenon::Tensor(const tenon::Tensor& self, double factor);
  static constexpr tenon::OpKind kind = tenon::OpKind::pure;
  static tenon::OpInfo info;
};

template <>
struct tenon::Rule<scale_by> {
#ifndef MISTAKE
  static constexpr std::string_view gradient = no_gradient;
#endif
  static Layout infer(const Tensor& self, double) { return self.layout(); }
  static void cpu(Tensor&, const Tensor&, double) {}
};

tenon::Tensor f(const tenon::Tensor& t) { return tenon::call<scale_by>(t, 2.0); }
