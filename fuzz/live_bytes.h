// How much memory an input takes: the bytes that are allocated while it is looked at.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

// Counts what this process allocates, on all threads, from here to its end. One at a time. Only
// AddressSanitizer can count: without it there is nothing to count.
class LiveBytes {
 public:
  LiveBytes();
  ~LiveBytes();
  LiveBytes(const LiveBytes&) = delete;
  LiveBytes& operator=(const LiveBytes&) = delete;

  // The most that was allocated at once, over what there was at the beginning.
  static std::int64_t peak() noexcept;
};

}  // namespace tenon
