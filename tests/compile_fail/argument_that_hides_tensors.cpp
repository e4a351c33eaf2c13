// expect: an operator takes tensors, optional tensors, lists of tensors
#include <tenon/extend.h>
#include <tenon/tenon.h>

#include <utility>

struct Hidden {
  tenon::Tensor inside;
};

struct broken {
#ifdef MISTAKE
  using Signature = tenon::Tensor(const tenon::Tensor& self, const Hidden& more);
#else
  using Signature = tenon::Tensor(const tenon::Tensor& self, const tenon::Tensor& more);
#endif
  static constexpr tenon::OpKind kind = tenon::OpKind::pure;
  static tenon::OpInfo info;
};

template <>
struct tenon::Rule<broken> {
  static constexpr std::string_view gradient = no_gradient;
  template <class T>
  static Layout infer(const Tensor& self, const T&) {
    return self.layout();
  }
  template <class T>
  static void run(Tensor&, const Tensor&, const T&) {}
};

#ifdef MISTAKE
tenon::Tensor f(const tenon::Tensor& t) { return tenon::call<broken>(t, Hidden{t}); }
#else
struct fine {
  using Signature = tenon::Tensor(const tenon::Tensor& self);
  static constexpr tenon::OpKind kind = tenon::OpKind::view;
  static tenon::OpInfo info;
};
template <>
struct tenon::Rule<fine> {
  static constexpr std::string_view gradient = no_gradient;
  static Layout view(const Tensor& self) { return self.layout(); }
};
tenon::Tensor f(const tenon::Tensor& t) { return tenon::call<fine>(t); }
#endif
