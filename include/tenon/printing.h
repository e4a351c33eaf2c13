// How tensors are printed: PyTorch's text and PyTorch's options.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "tenon/detail/api.h"

namespace tenon {

struct PrintOptions {
  std::int64_t precision = 4;
  std::int64_t threshold = 1000;  // tensors with more elements are summarised
  std::int64_t edgeitems = 3;     // elements shown at each end of a summarised dimension
  std::int64_t linewidth = 80;
  std::optional<bool> sci_mode = {};  // chosen for each tensor unless set
};

// What set_printoptions() takes: what is not named stays as it is, except sci_mode, which goes back
// to automatic.
struct PrintOptionsChange {
  std::optional<std::int64_t> precision = {};
  std::optional<std::int64_t> threshold = {};
  std::optional<std::int64_t> edgeitems = {};
  std::optional<std::int64_t> linewidth = {};
  std::string_view profile =
      {};  // "default", "short" or "full", in any case; applied before the others
  std::optional<bool> sci_mode = {};
};

// For the whole process, as in PyTorch; any thread may call them. ValueError for negative numbers
// or an unknown profile.
TENON_API void set_printoptions(const PrintOptionsChange& change);
TENON_API PrintOptions get_printoptions();

}  // namespace tenon
