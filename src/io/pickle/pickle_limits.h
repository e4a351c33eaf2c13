// How much of everything a pickle may have. Who reads one refuses more; who writes one counts the
// same things, so that what is written is read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

// Lists, tuples, dicts, sets, names, calls and storages.
inline constexpr std::size_t kMostNodes = std::size_t{8} << 20;
// Those of them that have items, but for tuples, or a state.
inline constexpr std::size_t kMostContainers = std::size_t{4} << 20;
// Values that wait for an operation: those of a tuple do until it ends.
inline constexpr std::size_t kMostWaiting = std::size_t{8} << 20;
// A number of the memo.
inline constexpr std::uint32_t kHighestMemo = std::uint32_t{16} << 20;

}  // namespace tenon
