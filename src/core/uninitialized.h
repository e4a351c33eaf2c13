// The body of a tensor that has neither shape nor data. It counts as a wrapper, so that whoever
// looks for what is unusual finds it on the way that is slow already (the dispatcher, loads,
// clones); unlike other wrappers it has no class of its own that could be asked.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tenon/detail/api.h"
#include "tenon/extend/body.h"
#include "tenon/tensor.h"

namespace tenon {

class TENON_API UninitializedBody final : public Body {
 public:
  UninitializedBody(DType dtype, Device device);
  ~UninitializedBody() override;
  std::string type_name() const override;
  std::optional<std::string> repr() const override;
};

// What everybody asks who may meet one: a flag, for all tensors but user-defined ones.
TENON_API bool is_uninitialized_wrapper(const Body& body) noexcept;
inline bool is_uninitialized(const Body& body) noexcept {
  return body.is_wrapper() && is_uninitialized_wrapper(body);
}
inline bool is_uninitialized(const Tensor& tensor) noexcept {
  return tensor.defined() && is_uninitialized(*tensor.cell()->body);
}

TENON_API Tensor make_uninitialized(DType dtype, Device device, bool is_parameter,
                                    bool requires_grad);
// Another one, with a dtype or a device of its own. DTypeError if it could not require grad.
TENON_API Tensor uninitialized_like(const Tensor& tensor, std::optional<DType> dtype = {},
                                    std::optional<Device> device = {});

// While it lives, new tensors are ordinary ones, whatever scope the thread is in: a parameter that
// gets its shape in an InferenceModeScope must not be one that can never be trained. (Whether
// operators are recorded stays as it is, where InferenceModeScope(false) would turn that on.)
class TENON_API OrdinaryScope {
 public:
  OrdinaryScope() noexcept;
  ~OrdinaryScope();
  OrdinaryScope(const OrdinaryScope&) = delete;
  OrdinaryScope& operator=(const OrdinaryScope&) = delete;

 private:
  bool saved_;
};

// The fresh tensor's memory becomes the uninitialised tensor's, which is an ordinary one then, with
// its own requires_grad, hooks and attributes. What can fail is done by the first.
TENON_API void prepare_materialize(const Tensor& tensor, const Tensor& fresh);
TENON_API void materialize_as(const Tensor& tensor, const Tensor& fresh) noexcept;

// The sentences PyTorch has for it.
TENON_API extern const std::string_view kUninitializedShape;
[[noreturn]] TENON_API void throw_uninitialized_shape();
[[noreturn]] TENON_API void throw_uninitialized_use(std::string_view what, const Body& body);

}  // namespace tenon
