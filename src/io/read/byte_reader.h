// ByteReader: numbers and stretches out of bytes that may be anything. It is the only code that
// touches them; whatever is not there is a FormatError with the place.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

static_assert(std::endian::native == std::endian::little, "files are read as they lie in memory");

class ByteReader {
 public:
  // `base` is where the bytes begin in the file.
  ByteReader(std::span<const std::byte> bytes, std::uint64_t base, const std::string& file) noexcept
      : bytes_(bytes), base_(base), file_(file) {}

  const std::string& file() const noexcept { return file_; }
  std::size_t position() const noexcept { return at_; }
  std::uint64_t offset() const noexcept { return base_ + at_; }  // in the file
  std::size_t left() const noexcept { return bytes_.size() - at_; }

  std::span<const std::byte> ahead() const noexcept { return bytes_.subspan(at_); }

  std::uint8_t u8() {
    if (at_ == bytes_.size()) ends(1);
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }

  std::span<const std::byte> bytes(std::uint64_t n) {
    if (n > left()) ends(n);
    const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(n));
    at_ += static_cast<std::size_t>(n);
    return taken;
  }
  std::string_view text(std::uint64_t n) {
    const auto taken = bytes(n);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  // Up to the next newline, which is taken too.
  std::string_view line() {
    const char* from = reinterpret_cast<const char*>(bytes_.data()) + at_;
    const void* end = left() == 0 ? nullptr : std::memchr(from, '\n', left());
    if (end == nullptr) fail("a line without an end");
    const auto n = static_cast<std::size_t>(static_cast<const char*>(end) - from);
    at_ += n + 1;
    return {from, n};
  }

  // Cold and never inlined, here and below: what fails would make what does not slower.
  [[noreturn, gnu::cold, gnu::noinline]] void fail(std::string_view reason) const {
    fail_at(offset(), reason);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void fail_at(std::uint64_t offset,
                                                      std::string_view reason) const {
    throw FormatError(file_, offset, std::string(reason));
  }

 private:
  template <class T>
  T number() {
    if (left() < sizeof(T)) ends(sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  [[noreturn, gnu::cold, gnu::noinline]] void ends(std::uint64_t wanted) const {
    fail(concat("cut short: ", wanted, " bytes are announced and ", left(), " are left"));
  }

  std::span<const std::byte> bytes_;
  std::uint64_t base_;
  const std::string& file_;
  std::size_t at_ = 0;
};

}  // namespace tenon
