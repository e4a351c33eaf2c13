// Tensors from numbers in the program.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/element_cast.h"
#include "base/text.h"
#include "core/alias.h"
#include "core/device_table.h"
#include "tenon/default_dtype.h"
#include "tenon/error.h"
#include "tenon/extend/autocast.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

namespace tenon {

namespace {

// The lengths found by going into the first element of each list. {} has no elements to go into.
Shape nested_shape(const NestedNumbers& data) {
  Shape shape;
  for (const NestedNumbers* at = &data; at->is_list(); at = &at->list().front()) {
    shape.push_back(static_cast<std::int64_t>(at->list().size()));
    if (at->list().empty()) break;
  }
  return shape;
}

void collect(const NestedNumbers& data, const Shape& shape, std::size_t depth,
             std::vector<Scalar>& out) {
  if (depth == shape.size()) {
    if (data.is_list())
      throw ValueError(
          concat("expected a number at dim ", depth, " (got a list of ", data.list().size(), ")"));
    out.push_back(data.number());
    return;
  }
  if (!data.is_list())
    throw ValueError(
        concat("expected sequence of length ", shape[depth], " at dim ", depth, " (got a number)"));
  if (static_cast<std::int64_t>(data.list().size()) != shape[depth]) {
    throw ValueError(concat("expected sequence of length ", shape[depth], " at dim ", depth,
                            " (got ", data.list().size(), ")"));
  }
  for (const NestedNumbers& item : data.list()) collect(item, shape, depth + 1, out);
}

DType inferred_dtype(const std::vector<Scalar>& numbers) {
  if (numbers.empty()) return get_default_dtype();
  const auto most =
      std::max_element(numbers.begin(), numbers.end(),
                       [](const Scalar& a, const Scalar& b) { return a.kind() < b.kind(); });
  return most->dtype();
}

// One number as an element. Whole dtypes take what they can hold; floating ones take anything real,
// rounding or overflowing to infinity, as torch.tensor() does and fill_() does not.
template <class T>
T literal(const Scalar& number) {
  if constexpr (is_opaque_type<T> || std::integral<T> || is_complex_type<T>) {
    if constexpr (is_complex_type<T>) return convert<T>(number.to<std::complex<double>>());
    return number.to<T>();
  } else {
    if (number.kind() == Scalar::Kind::complex) {
      throw TypeError(concat("must be real number, not complex: ", number.repr(), " as ",
                             info(dtype_of<T>).name));
    }
    return convert<T>(number.to<double>());
  }
}

Tensor on_device(const Tensor& filled, const TensorOptions& options) {
  const bool requires_grad = options.requires_grad;  // user code may destroy the options
  Tensor out = filled.to(usable_device(options.device ? *options.device : get_default_device()));
  if (requires_grad) out.requires_grad_();
  return out;
}

}  // namespace

Tensor tensor(const NestedNumbers& data, const TensorOptions& options) {
  Shape shape = nested_shape(data);
  std::vector<Scalar> numbers;
  collect(data, shape, 0, numbers);
  const DType dtype = options.dtype ? *options.dtype : inferred_dtype(numbers);
  Tensor out = allocate_tensor(Layout::packed(shape, dtype, Device::cpu()));
  visit(dtype, [&]<class T>() {
    auto* elements = static_cast<std::byte*>(out.data_ptr());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const T element = literal<T>(numbers[i]);
      std::memcpy(elements + i * sizeof(T), &element, sizeof(T));
    }
  });
  return on_device(out, options);
}

Tensor tensor_from(const void* data, DType type, std::int64_t count, const TensorOptions& options) {
  Tensor out = allocate_tensor(Layout::packed({count}, type, Device::cpu()));
  if (count != 0)
    std::memcpy(out.data_ptr(), data, static_cast<std::size_t>(count * itemsize(type)));
  return on_device(out.to(options.dtype.value_or(type)), options);
}

Tensor tensor_from(const std::vector<bool>& data, const TensorOptions& options) {
  const std::vector<std::uint8_t> bytes(data.begin(), data.end());
  return tensor_from(bytes.data(), bool_, static_cast<std::int64_t>(bytes.size()), options);
}

Tensor tensor_from(std::span<const Tensor> rows, const TensorOptions& given) {
  const TensorOptions options = given;  // see Note [Arguments of one's own]
  for (const Tensor& row : rows) {
    if (row.shape() == rows.front().shape()) continue;
    for (std::int64_t d = 0; d < row.dim(); ++d) {
      if (row.size(d) == rows.front().size(d)) continue;
      throw ValueError(concat("expected sequence of length ", rows.front().size(d), " at dim ",
                              d + 1, " (got ", row.size(d), ")"));
    }
  }
  const detail::NoAutocastScope as_given;
  const Tensor all =
      rows.empty() ? tensor(NestedNumbers(), {.device = Device::cpu()}) : stack(rows);
  return on_device(all.to(options.dtype.value_or(all.dtype())), options);
}

}  // namespace tenon
