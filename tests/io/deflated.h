// Bytes deflated, as entries of archives are: the library only reads such.
#pragma once

#include <libdeflate.h>

#include <memory>
#include <string>
#include <string_view>

namespace tenon {

inline std::string deflated(std::string_view bytes) {
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> machine(
      libdeflate_alloc_compressor(6), &libdeflate_free_compressor);
  std::string out(libdeflate_deflate_compress_bound(machine.get(), bytes.size()), '\0');
  out.resize(libdeflate_deflate_compress(machine.get(), bytes.data(), bytes.size(), out.data(),
                                         out.size()));
  return out;
}

}  // namespace tenon
