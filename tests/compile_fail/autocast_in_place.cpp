// expect: must not write into
// What is converted is not what an operator in place would write into.
#include <tenon/extend.h>
#include <tenon/tenon.h>

struct halve {
#ifdef MISTAKE
  using Signature = const tenon::Tensor&(const tenon::Tensor& self);
  static constexpr tenon::OpKind kind = tenon::OpKind::inplace;
#else
  using Signature = tenon::Tensor(const tenon::Tensor& self);
  static constexpr tenon::OpKind kind = tenon::OpKind::composite;
#endif
  static tenon::OpInfo info;
};

template <>
struct tenon::Rule<halve> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
  static constexpr std::string_view gradient = no_gradient;
  static void check(const Tensor&) {}
  static void cpu(const Tensor&) {}
  static Tensor compose(const Tensor& self) { return self / 2; }
};

tenon::Tensor f(const tenon::Tensor& t) { return tenon::call<halve>(t); }
