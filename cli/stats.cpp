#include "stats.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/stored_dtype.h"
#include "core/alias.h"
#include "core/element_copy.h"

namespace tenon::cli {

namespace {

// Quantised elements are looked at as the integers they are.
DType plain(DType dtype) { return is_quantized(dtype) ? stored_integer(dtype) : dtype; }

}  // namespace

bool StatisticsOf::has_any(DType dtype) noexcept {
  return !is_complex(dtype) && info(dtype).kind != DTypeKind::bits;
}

void StatisticsOf::add(std::span<const std::byte> elements) {
  const DType dtype = plain(dtype_);
  const std::int64_t size = itemsize(dtype);
  if (size == 1) {
    for (const std::byte element : elements) ++times_[static_cast<std::size_t>(element)];
    return;
  }
  constexpr std::int64_t kAtOnce = 1 << 15;
  const auto all = static_cast<std::int64_t>(elements.size()) / size;
  for (std::int64_t begin = 0; begin < all; begin += kAtOnce) {
    const std::int64_t n = std::min(kAtOnce, all - begin);
    const Tensor from = allocate_tensor(Layout::packed({n}, dtype, Device::cpu()));
    const Tensor wide = allocate_tensor(Layout::packed({n}, float64, Device::cpu()));
    std::memcpy(from.data_ptr(), elements.data() + begin * size,
                static_cast<std::size_t>(n * size));
    copy_tensor(wide, from);
    const auto* values = static_cast<const double*>(wide.data_ptr());
    for (std::int64_t i = 0; i < n; ++i) add(values[i], 1);
  }
}

void StatisticsOf::add(double x, std::uint64_t times) {
  seen_.count += times;
  if (std::isnan(x)) {
    seen_.nan += times;
  } else if (std::isinf(x)) {
    seen_.infinite += times;
  } else {
    if (finite_ == 0) first_ = seen_.minimum = seen_.maximum = x;
    finite_ += times;
    seen_.minimum = std::min(seen_.minimum, x);
    seen_.maximum = std::max(seen_.maximum, x);
    seen_.zero += x == 0 ? times : 0;
    const double beyond = x - first_;
    sum_ += beyond * static_cast<double>(times);
    squares_ += beyond * beyond * static_cast<double>(times);
  }
}

void StatisticsOf::add_bytes() {
  const Tensor from = allocate_tensor(Layout::packed({256}, plain(dtype_), Device::cpu()));
  const Tensor wide = allocate_tensor(Layout::packed({256}, float64, Device::cpu()));
  auto* bytes = static_cast<std::uint8_t*>(from.data_ptr());
  std::iota(bytes, bytes + 256, std::uint8_t{0});
  copy_tensor(wide, from);
  const auto* values = static_cast<const double*>(wide.data_ptr());
  for (std::size_t i = 0; i < times_.size(); ++i) {
    if (times_[i] != 0) add(values[i], times_[i]);
  }
  times_ = {};
}

Statistics StatisticsOf::get() {
  if (itemsize(dtype_) == 1) add_bytes();
  Statistics out = seen_;
  const auto n = static_cast<double>(finite_);
  if (finite_ == 0) return out;
  out.mean = first_ + sum_ / n;
  if (finite_ > 1) out.deviation = std::sqrt(std::max(0.0, (squares_ - sum_ * sum_ / n) / (n - 1)));
  return out;
}

}  // namespace tenon::cli
