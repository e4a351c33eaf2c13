#include "ops/elementwise/operands.h"

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// The bytes a dense CPU tensor lies in.
std::pair<const std::byte*, const std::byte*> extent(const Tensor& tensor) {
  const Layout& layout = tensor.layout();
  const auto* first = static_cast<const std::byte*>(tensor.data_ptr());
  std::int64_t reach = 1;
  for (std::size_t d = 0; d < layout.shape.size(); ++d)
    reach += (layout.shape[d] - 1) * layout.strides[d];
  return {first, first + reach * layout.itemsize()};
}

}  // namespace

Device same_device(std::string_view op, std::span<const Tensor> tensors) {
  const Device device = tensors.front().device();
  for (const Tensor& tensor : tensors) {
    if (tensor.device() == device) continue;
    throw DeviceError(concat(
        op, ": Expected all tensors to be on the same device, but found at least two devices, ",
        device.str(), " and ", tensor.device().str(), "! Move one with to(device)"));
  }
  return device;
}

DType common_dtype(std::span<const Tensor> tensors) {
  DType dtype = tensors.front().dtype();
  for (const Tensor& tensor : tensors.subspan(1)) dtype = promote_types(dtype, tensor.dtype());
  return dtype;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  const std::size_t lead = to.size() - from.size();
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1 && from[d] != to[lead + d]) return false;
  }
  return true;
}

Dims expanded(const Dims& given, std::size_t n) {
  return given.size() == 1 ? Dims::filled(n, given[0]) : given;
}

Dims expanded(std::string_view op, std::string_view option, const Dims& given, std::size_t n) {
  Dims numbers = expanded(given, n);
  if (numbers.size() == n) return numbers;
  throw ValueError(concat(op, ": ", option, " must either be a single int, or a list of ", n,
                          ", but got ", given));
}

void not_implemented(std::string_view op, DType dtype) {
  throw NotImplementedError(
      concat("\"", op, "\" not implemented for '", info(dtype).scalar_name, "'"));
}

void check_convertible(DType from, DType to) {
  if (from == to || (!is_opaque(from) && !is_opaque(to))) return;
  throw DTypeError(concat("cannot convert ", repr(from), " to ", repr(to),
                          ": its elements are opaque, and no scale is in them"));
}

void no_item(DType dtype) {
  throw DTypeError(concat("item() of a ", repr(dtype), " tensor: its elements are opaque"));
}

void check_written_once(const Layout& layout) {
  if (layout.numel() == 0) return;
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    if (layout.shape[d] > 1 && layout.strides[d] == 0) {
      throw Error(
          concat("unsupported operation: more than one element of the written-to tensor refers to "
                 "a single memory location (shape ",
                 bracketed(layout.shape), ", strides ", bracketed(layout.strides),
                 "). Please clone() the tensor before performing the operation."));
    }
  }
}

bool may_share_memory(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0 || !a.storage().is(b.storage())) return false;
  const auto [a_begin, a_end] = extent(a);
  const auto [b_begin, b_end] = extent(b);
  return a_begin < b_end && b_begin < a_end;
}

// Whether element i of one is element i of the other, byte for byte.
bool same_elements(const Layout& a, const Layout& b) {
  return a.offset * a.itemsize() == b.offset * b.itemsize() && a.itemsize() == b.itemsize() &&
         a.shape == b.shape && a.strides == b.strides;
}

bool shares_memory_partly(const Tensor& a, const Tensor& b) {
  return may_share_memory(a, b) && !same_elements(a.layout(), b.layout());
}

void check_copy_out_of_meta(std::string_view op, Device src, Device dst) {
  if (src.is_meta() && !dst.is_meta()) {
    throw NotImplementedError(concat(op,
                                     ": Cannot copy out of meta tensor; no data! Give it some "
                                     "first: load a state dict with assign, or "
                                     "make a new tensor with empty_like(t, {.device = ...})"));
  }
}

}  // namespace tenon
