// For comparing with hashes that PyTorch's side wrote down.
#pragma once

#include <span>
#include <string>

#include "io/support/sha256.h"

namespace tenon {

inline std::string sha256(std::span<const std::byte> data) {
  Sha256 hash;
  hash.add(data);
  return hash.hex();
}

}  // namespace tenon
