#include "kernels/fill.h"

#include <algorithm>
#include <cstring>

#include "kernels/fill_simd.h"
#include "kernels/streaming.h"

namespace tenon {

void fill_elements(std::span<const std::int64_t> shape, const Operand& dst,
                   const std::byte* element) {
  const Loop<1> loop(shape, {dst});
  const auto size = static_cast<std::size_t>(dst.itemsize);
  const bool one_byte =
      std::all_of(element, element + size, [&](std::byte b) { return b == element[0]; });
  const bool stream = loop.numel() * dst.itemsize >= kStreamedBytes &&
                      reinterpret_cast<std::uintptr_t>(dst.data) % size == 0;
  loop.run_parallel([&](const Loop<1>::Pointers& at, const Loop<1>::Strides& strides,
                        std::int64_t n) {
    if (strides[0] != dst.itemsize) {
      for (std::int64_t i = 0; i < n; ++i) std::memcpy(at[0] + i * strides[0], element, size);
    } else if (stream) {
      stream_fill(at[0], n * dst.itemsize, element, dst.itemsize);
    } else if (one_byte) {
      std::memset(at[0], static_cast<int>(element[0]), static_cast<std::size_t>(n) * size);
    } else {
      // Written once, then copied over itself in pieces that double up to a page and stay in the
      // cache.
      const std::size_t total = static_cast<std::size_t>(n) * size;
      std::memcpy(at[0], element, size);
      for (std::size_t done = size; done < total;) {
        const std::size_t piece = std::min({done, total - done, std::size_t{4096} / size * size});
        std::memcpy(at[0] + done, at[0], piece);
        done += piece;
      }
    }
  });
}

}  // namespace tenon
