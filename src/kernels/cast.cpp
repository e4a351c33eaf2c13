#include "kernels/cast.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "base/element_cast.h"
#include "base/text.h"
#include "kernels/element.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// The wide type that every value of T can become without loss.
template <class T>
struct WideOf {
  using Type = std::conditional_t<std::same_as<T, std::uint64_t>, std::uint64_t, std::int64_t>;
};
template <class T>
  requires(std::same_as<T, float> || is_small_float<T>)
struct WideOf<T> {
  using Type = float;
};
template <>
struct WideOf<double> {
  using Type = double;
};
template <>
struct WideOf<std::complex<double>> {
  using Type = std::complex<double>;
};
template <class T>
  requires(std::same_as<T, std::complex<float>> || std::same_as<T, ComplexHalf>)
struct WideOf<T> {
  using Type = std::complex<float>;
};

template <class T, class W>
void read(void* wide, const std::byte* src, std::int64_t stride, std::int64_t n) {
  auto* out = static_cast<W*>(wide);
  if (stride == sizeof(T)) {
    for (std::int64_t i = 0; i < n; ++i)
      out[i] = convert<W>(load_element<T>(src + i * static_cast<std::int64_t>(sizeof(T))));
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = convert<W>(load_element<T>(src + i * stride));
  }
}

template <class T, class W>
void write(std::byte* dst, std::int64_t stride, const void* wide, std::int64_t n) {
  const auto* in = static_cast<const W*>(wide);
  const auto store = [](std::byte* to, W value) {
    const T element = convert<T>(value);
    std::memcpy(to, &element, sizeof element);
  };
  if (stride == sizeof(T)) {
    for (std::int64_t i = 0; i < n; ++i)
      store(dst + i * static_cast<std::int64_t>(sizeof(T)), in[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) store(dst + i * stride, in[i]);
  }
}

void zero_nans(void* wide, std::int64_t n) {
  auto* values = static_cast<float*>(wide);
  for (std::int64_t i = 0; i < n; ++i) values[i] = values[i] == values[i] ? values[i] : 0.0f;
}

template <class W>
void conjugate(void* wide, std::int64_t n) {
  if constexpr (is_std_complex<W>) {
    auto* values = static_cast<W*>(wide);
    for (std::int64_t i = 0; i < n; ++i) values[i] = {values[i].real(), -values[i].imag()};
  }
}

template <class W>
void negate(void* wide, std::int64_t n) {
  auto* values = static_cast<W*>(wide);
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (std::integral<W>) {
      values[i] = static_cast<W>(
          0 - static_cast<std::uint64_t>(values[i]));  // wraps, as two's complement does
    } else {
      values[i] = -values[i];
    }
  }
}

// What conjugation leaves of a real number that became complex: an imaginary part of -0.
template <class Part>
void flip_imaginary(std::byte* dst, std::int64_t stride, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    std::byte* imaginary = dst + i * stride + sizeof(Part);
    imaginary[sizeof(Part) - 1] ^= std::byte{0x80};
  }
}

constexpr std::int64_t kPiece = 512;
constexpr std::size_t kWidest = sizeof(std::complex<double>);

}  // namespace

Cast::Cast(DType dst, DType src, bool conj, bool neg)
    : dst_size_(itemsize(dst)), src_size_(itemsize(src)) {
  if (is_opaque(dst) || is_opaque(src)) {
    throw DTypeError(concat("cannot convert ", repr(src), " to ", repr(dst),
                            ": opaque elements cannot be converted (a quantised tensor's scale and "
                            "zero point are not in them)"));
  }
  if (!conj && !neg) packed_ = packed_cast(dst, src);
  if (conj && !is_complex(src)) {
    if (dst == complex128) flip_ = flip_imaginary<double>;
    if (dst == complex64) flip_ = flip_imaginary<float>;
    if (dst == complex32) flip_ = flip_imaginary<Half>;
  }
  visit(src, [&]<class S>() {
    if constexpr (!is_opaque_type<S>) {
      using W = typename WideOf<S>::Type;
      read_ = read<S, W>;
      if (conj) conj_ = conjugate<W>;
      if (neg) neg_ = negate<W>;
      if (nan_becomes_zero<S> && is_integral(dst)) zero_nans_ = zero_nans;
      visit(dst, [&]<class D>() {
        if constexpr (!is_opaque_type<D>) write_ = write<D, W>;
      });
    }
  });
}

void Cast::operator()(const CastRow& row, bool stream) const {
  const auto aligned = [](const std::byte* at, std::int64_t size) {
    return reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(size) == 0;
  };
  if (packed_ != nullptr && row.dst_stride == dst_size_ && row.src_stride == src_size_ &&
      aligned(row.dst, dst_size_) && aligned(row.src, src_size_)) {
    return packed_(row.src, row.dst, row.n, stream);
  }
  alignas(64) std::byte wide[kPiece * kWidest];
  for (std::int64_t done = 0; done < row.n; done += kPiece) {
    const std::int64_t n = std::min(kPiece, row.n - done);
    read_(wide, row.src + done * row.src_stride, row.src_stride, n);
    if (zero_nans_ != nullptr) zero_nans_(wide, n);
    if (conj_ != nullptr) conj_(wide, n);
    if (neg_ != nullptr) neg_(wide, n);
    write_(row.dst + done * row.dst_stride, row.dst_stride, wide, n);
    if (flip_ != nullptr) flip_(row.dst + done * row.dst_stride, row.dst_stride, n);
  }
}

}  // namespace tenon
