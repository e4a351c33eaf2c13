// Making tensors. Everything that is not said follows the defaults of tenon/device.h and
// tenon/default_dtype.h, which is how a network is built on the meta device without its layers
// knowing.
//
//   auto a = tensor({{1, 2}, {3, 4}});                          // int64
//   auto b = zeros({2, 3}, {.dtype = bfloat16});
//   auto c = with_device("meta", [] { return empty({1000000, 1000000}); });
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/tensor.h"

namespace tenon {

struct TensorOptions {
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool requires_grad = false;
};
struct EmptyOptions {
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool requires_grad = false;
  MemoryFormat memory_format = MemoryFormat::contiguous;
};
struct LikeOptions {
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool requires_grad = false;
  MemoryFormat memory_format = MemoryFormat::preserve;
};

// From numbers in the program.

// A number, or a list of lists of them: what tensor({{1, 2}, {3, 4}}) takes. Never named by users.
class TENON_API NestedNumbers {
 public:
  NestedNumbers() = default;  // {}: no numbers
  template <class T>
    requires(std::constructible_from<Scalar, T> && !std::same_as<std::remove_cvref_t<T>, Scalar>)
  NestedNumbers(T number) : number_(number), is_list_(false) {}
  NestedNumbers(Scalar number) : number_(number), is_list_(false) {}
  NestedNumbers(std::initializer_list<NestedNumbers> list) : list_(list) {}
  // The same as from any number: Note [Braces with names].
  explicit NestedNumbers(bool number) : NestedNumbers(Scalar(number)) {}
  explicit NestedNumbers(int number) : NestedNumbers(Scalar(number)) {}
  explicit NestedNumbers(long number) : NestedNumbers(Scalar(number)) {}
  explicit NestedNumbers(unsigned long number) : NestedNumbers(Scalar(number)) {}
  explicit NestedNumbers(float number) : NestedNumbers(Scalar(number)) {}
  explicit NestedNumbers(double number) : NestedNumbers(Scalar(number)) {}

  bool is_list() const noexcept { return is_list_; }
  const std::vector<NestedNumbers>& list() const noexcept { return list_; }
  const Scalar& number() const noexcept { return number_; }

 private:
  std::vector<NestedNumbers> list_;
  Scalar number_;
  bool is_list_ = true;
};

// By Python's rules: bools give bool, whole numbers int64, anything with a fraction the default
// dtype, anything complex its complex counterpart. ValueError if lists at one depth differ in
// length.
TENON_API Tensor tensor(const NestedNumbers& data, const TensorOptions& options = {});

// A copy of elements that have a type already, which is kept unless another dtype is named.
TENON_API Tensor tensor_from(const void* data, DType type, std::int64_t count,
                             const TensorOptions& options);
template <class T>
Tensor tensor(std::span<const T> data, const TensorOptions& options = {}) {
  return tensor_from(data.data(), dtype_of<T>, static_cast<std::int64_t>(data.size()), options);
}
template <class T>
  requires(!std::same_as<T, bool>)
Tensor tensor(const std::vector<T>& data, const TensorOptions& options = {}) {
  return tensor(std::span<const T>(data), options);
}
TENON_API Tensor tensor_from(const std::vector<bool>& data, const TensorOptions& options);
template <std::same_as<std::vector<bool>> V>  // so that a braced list is never one
Tensor tensor(const V& data, const TensorOptions& options = {}) {
  return tensor_from(data, options);
}

// A list of lists of the same length each. ValueError otherwise.
TENON_API Tensor tensor_from(std::span<const Tensor> rows, const TensorOptions& options);
template <class T>
Tensor tensor(const std::vector<std::vector<T>>& data, const TensorOptions& options = {}) {
  std::vector<Tensor> rows;
  rows.reserve(data.size());
  for (const std::vector<T>& row : data) rows.push_back(tensor(row, {.device = Device::cpu()}));
  return tensor_from(rows, options);
}

// From a size.

// Uninitialised. ShapeError for sizes that cannot be, OutOfMemoryError for those that cannot be
// had.
TENON_API Tensor empty(const Shape& size, const EmptyOptions& options = {});
TENON_API Tensor empty_strided(const Shape& size, const Dims& stride,
                               const TensorOptions& options = {});
TENON_API Tensor zeros(const Shape& size, const TensorOptions& options = {});
TENON_API Tensor ones(const Shape& size, const TensorOptions& options = {});
// The dtype follows the value, as tensor(value) does.
TENON_API Tensor full(const Shape& size, const Scalar& fill_value,
                      const TensorOptions& options = {});
TENON_API Tensor scalar_tensor(const Scalar& value, const TensorOptions& options = {});
TENON_API Tensor eye(std::int64_t n, const TensorOptions& options = {});
TENON_API Tensor eye(std::int64_t n, std::int64_t m, const TensorOptions& options = {});

// start, start + step, ... up to but without end: int64 if all three are whole numbers, else the
// default dtype.
TENON_API Tensor arange(const Scalar& end, const TensorOptions& options = {});
TENON_API Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options = {});
TENON_API Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
                        const TensorOptions& options = {});
// With what has a default by name: arange(0, 10, {.step = 2}), eye(3, {.m = 4}).
struct ArangeOptions {
  Scalar step = 1;
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool requires_grad = false;
};
struct EyeOptions {
  OnlyByName by_name = {};
  std::int64_t m = 0;
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool requires_grad = false;
};
template <class O = ArangeOptions>
OnlyOf<O, ArangeOptions, Tensor> arange(const Scalar& start, const Scalar& end, const O& options) {
  return arange(start, end, options.step,
                TensorOptions{options.dtype, options.device, options.requires_grad});
}
template <class O = EyeOptions>
OnlyOf<O, EyeOptions, Tensor> eye(std::int64_t n, const O& options) {
  return eye(n, options.m, TensorOptions{options.dtype, options.device, options.requires_grad});
}
// `steps` numbers from start to end, both included.
TENON_API Tensor linspace(const Scalar& start, const Scalar& end, std::int64_t steps,
                          const TensorOptions& options = {});

// Like another tensor.

// Its shape, order in memory, dtype and device, where nothing else is said. Never the default
// device.
TENON_API Tensor empty_like(const Tensor& self, const LikeOptions& options = {});
TENON_API Tensor zeros_like(const Tensor& self, const LikeOptions& options = {});
TENON_API Tensor ones_like(const Tensor& self, const LikeOptions& options = {});
TENON_API Tensor full_like(const Tensor& self, const Scalar& fill_value,
                           const LikeOptions& options = {});

// Over memory that is there.

struct FromBlobOptions {
  std::optional<DType> dtype = {};   // the default dtype
  std::optional<Dims> strides = {};  // packed
  std::function<void(void*)> deleter =
      {};                  // called with the pointer when the last tensor over it is gone
  std::size_t nbytes = 0;  // what is there, if more than the tensor reaches
};
// A tensor over somebody else's memory on the CPU, which must outlive it (or its deleter). Nothing
// is copied.
TENON_API Tensor from_blob(void* data, const Shape& size, const FromBlobOptions& options = {});

struct FromFileOptions {
  bool shared = false;  // writes go to the file
  std::optional<DType> dtype = {};
};
// The first `size` elements of a file, mapped. Unless shared, writes stay in this process. IoError
// if it cannot be mapped, ValueError if it is too short.
TENON_API Tensor from_file(const std::string& filename, std::int64_t size,
                           const FromFileOptions& options = {});

}  // namespace tenon
