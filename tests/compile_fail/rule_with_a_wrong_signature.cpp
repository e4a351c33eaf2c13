// A Rule's functions are used as the signature says, so one that does not fit is not passed over.
// expect: infer
#include <tenon/extend.h>
#include <tenon/tenon.h>

struct scale_by {
  using Signature = tenon::Tensor(const tenon::Tensor& self, double factor);
  static constexpr tenon::OpKind kind = tenon::OpKind::pure;
  static tenon::OpInfo info;
};

template <>
struct tenon::Rule<scale_by> {
  static constexpr std::string_view gradient = no_gradient;
#ifdef MISTAKE
  static Layout infer(const Tensor& self) { return self.layout(); }
#else
  static Layout infer(const Tensor& self, double) { return self.layout(); }
#endif
  static void cpu(Tensor&, const Tensor&, double) {}
};

tenon::Tensor f(const tenon::Tensor& t) { return tenon::call<scale_by>(t, 2.0); }
