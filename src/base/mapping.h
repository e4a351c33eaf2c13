// Mapping: a stretch of a file in memory. It lives as long as anything refers to it; the pages are
// read when touched.
//
// If another process cuts the file short, touching a page behind its new end is a SIGBUS. Code that
// must survive that reads the file instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/extend/ref.h"

namespace tenon {

class TENON_API Mapping final : public RefCounted {
 public:
  enum class Mode : std::uint8_t {
    private_copy,  // writes stay in this process; the file never changes
    shared,        // writes go to the file
  };

  // The whole file. IoError if it cannot be opened or mapped, or is not a regular file. An empty
  // file gives no bytes.
  static Ref<Mapping> open(const std::string& path, Mode mode);
  // The first `size` bytes of an open regular file; the name is for messages.
  static Ref<Mapping> of_file(int descriptor, const std::string& name, std::size_t size, Mode mode);
  ~Mapping() override;

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  Mapping(std::byte* data, std::size_t size) noexcept : data_(data), size_(size) {}

  std::byte* data_;
  std::size_t size_;
};

}  // namespace tenon
