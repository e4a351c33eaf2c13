#include "kernels/fill_simd.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fill_simd.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void StreamFill(std::byte* dst, std::int64_t nbytes, const std::byte* element,
                std::int64_t itemsize) {
  constexpr std::int64_t kLine = 64;
  HWY_ALIGN std::uint64_t words[kLine / 8];
  auto* line = reinterpret_cast<std::byte*>(words);
  for (std::int64_t at = 0; at < kLine; at += itemsize)
    std::memcpy(line + at, element, static_cast<std::size_t>(itemsize));
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst) % kLine);
  std::int64_t i = HWY_MIN(nbytes, past == 0 ? 0 : kLine - past);
  std::memcpy(dst, line, static_cast<std::size_t>(i));
  // Whole lines: a vector may be narrower than an element (one word, on the baseline).
  const hn::CappedTag<std::uint64_t, kLine / 8> d;
  for (; i + kLine <= nbytes; i += kLine) {
    auto* to = reinterpret_cast<std::uint64_t*>(dst + i);
    for (std::size_t word = 0; word < kLine / 8; word += hn::Lanes(d))
      hn::Stream(hn::Load(d, words + word), d, to + word);
  }
  hwy::FlushStream();
  std::memcpy(dst + i, line, static_cast<std::size_t>(nbytes - i));
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(StreamFill);

void stream_fill(std::byte* dst, std::int64_t nbytes, const std::byte* element,
                 std::int64_t itemsize) noexcept {
  HWY_DYNAMIC_DISPATCH(StreamFill)(dst, nbytes, element, itemsize);
}

}  // namespace tenon
#endif
