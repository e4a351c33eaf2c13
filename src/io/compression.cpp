#include "io/compression.h"

#include <libdeflate.h>

#include <memory>
#include <new>

namespace tenon {

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  return libdeflate_crc32(before, bytes.data(), bytes.size());
}

bool inflate(std::span<const std::byte> from, std::span<std::byte> to) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> machine(
      libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (!machine) throw std::bad_alloc();
  std::size_t read = 0, written = 0;
  return libdeflate_deflate_decompress_ex(machine.get(), from.data(), from.size(), to.data(),
                                          to.size(), &read, &written) == LIBDEFLATE_SUCCESS &&
         read == from.size() && written == to.size();
}

}  // namespace tenon
