#include "tenon/extend/wrapper.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/demangled.h"
#include "base/text.h"
#include "base/thread_state.h"
#include "base/user_code.h"
#include "core/uninitialized.h"
#include "dispatch/wrapper_order.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"

namespace tenon {

namespace {

Layout outer_layout(const Layout& given) {
  check_layout(given);
  Layout layout = given;
  // The bits say how to read bytes, and there are none here.
  layout.conj = layout.neg = false;
  if (layout.device.is_cpu() || layout.device.is_meta())
    layout.device = Device(layout.device.type());
  return layout;
}

Storage outer_storage(const Layout& layout) {
  return Storage::without_data(static_cast<std::size_t>(required_bytes(layout)), layout.device);
}

std::string last_name(const std::type_info& type) {
  std::string name = demangled(type);
  const std::size_t arguments =
      name.find('<');  // of a template; what is inside has colons of its own
  const std::size_t colon = name.rfind("::", arguments);
  return colon == std::string::npos ? name : name.substr(colon + 2);
}

}  // namespace

bool WrapperClass::derives_from(const WrapperClass& other) const noexcept {
  for (const WrapperClass* at = this; at != nullptr; at = at->parent) {
    if (*at->type == *other.type) return true;
  }
  return false;
}

WrapperBody::WrapperBody(const Tensor& like) : WrapperBody(like.layout()) {}

WrapperBody::WrapperBody(const Layout& layout)
    : Body(outer_layout(layout), outer_storage(outer_layout(layout)), kWrapper) {}

WrapperBody::~WrapperBody() = default;

std::optional<Value> WrapperBody::dispatch(const OpCall& /*call*/) const { return std::nullopt; }

std::optional<Tensor> WrapperBody::module_load(const Tensor& dest, const Tensor& src,
                                               bool assign) const {
  // A class that does not know about another leaves it to that one, which may know about both.
  for (const Tensor* tensor : {&dest, &src}) {
    const Body& other = tensor->body();
    if (is_uninitialized(other)) throw_uninitialized_use("module_load", other);
    if (other.is_wrapper() &&
        !wrapper_class().derives_from(static_cast<const WrapperBody&>(other).wrapper_class()))
      return std::nullopt;
  }
  const DisableOverridesScope plain;
  return dest.module_load(src, assign);
}

std::optional<Flattened> WrapperBody::flatten() const { return std::nullopt; }

void WrapperBody::for_each_payload(const std::function<void(const Tensor&)>& visit) const {
  const auto parts = flatten();
  if (!parts) return;
  for (const auto& part : parts->tensors) visit(part.second);
}

std::string WrapperBody::type_name() const { return last_name(*wrapper_class().type); }

const WrapperClass& WrapperBody::static_class() noexcept {
  static const WrapperClass the_class{&typeid(WrapperBody), nullptr};
  return the_class;
}

std::vector<HeldWrapper> wrappers_in_order(std::span<const Tensor> tensors) {
  std::vector<HeldWrapper> order;
  for (const Tensor& tensor : tensors) {
    const Body& body = tensor.body();
    if (!body.is_wrapper() || is_uninitialized(body)) continue;
    const auto& wrapper = static_cast<const WrapperBody&>(body);
    const WrapperClass& its_class = wrapper.wrapper_class();
    const auto same = [&](const HeldWrapper& other) {
      return *other->wrapper_class().type == *its_class.type;
    };
    if (std::any_of(order.begin(), order.end(), same)) continue;
    const auto base = std::find_if(order.begin(), order.end(), [&](const HeldWrapper& other) {
      return its_class.derives_from(other->wrapper_class());
    });
    order.insert(base, HeldWrapper(tensor.cell()->body));
  }
  return order;
}

std::vector<std::string> type_names(std::span<const Tensor> tensors) {
  std::vector<std::string> names;
  for (const Tensor& tensor : tensors) {
    std::string name = tensor.body().type_name();
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  }
  return names;
}

std::string joined_type_names(std::span<const Tensor> tensors) {
  std::string out;
  for (const std::string& name : type_names(tensors)) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::vector<std::string> OpCall::types() const { return type_names(tensors_); }

std::optional<Value> detail::ask_wrappers(const OpCall& call) {
  for (const Tensor& tensor : call.tensors()) {
    if (is_uninitialized(tensor.body()))
      throw_uninitialized_use(concat("'", call.name(), "'"), tensor.body());
  }
  for (const HeldWrapper& wrapper : wrappers_in_order(call.tensors())) {
    if (auto answer = wrapper->dispatch(call)) return answer;
  }
  return std::nullopt;
}

void detail::check_callers() { after_user_code(); }

void detail::nobody_handles(const OpCall& call) {
  throw NotImplementedError(concat("no implementation found for '", call.name(),
                                   "' on types that define their own: [",
                                   joined_type_names(call.tensors()), "]"));
}

DisableOverridesScope::DisableOverridesScope() noexcept : saved_(thread_state().overrides_enabled) {
  thread_state().overrides_enabled = false;
}
DisableOverridesScope::~DisableOverridesScope() { thread_state().overrides_enabled = saved_; }

}  // namespace tenon
