#include "io/zip/compression.h"

#include <random>

#include "io/zip/crc32_fold.h"
#include "support/matchers.h"

namespace tenon {
namespace {

// Bit by bit.
std::uint32_t plain(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t state = ~before;
  for (const std::byte byte : bytes) {
    state ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ ((state & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~state;
}

std::vector<std::byte> noise(std::size_t n) {
  std::mt19937 random(3);
  std::vector<std::byte> bytes(n);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(Compression, ChecksumsAreThoseOfZipArchives) {
  const std::string_view text = "123456789";
  EXPECT_EQ(crc32(std::as_bytes(std::span(text))), 0xcbf43926);
  const auto bytes = noise(5000);
  for (const std::size_t n : {0u, 1u, 1023u, 1024u, 1025u, 1279u, 1280u, 4096u, 4999u}) {
    for (const std::size_t from : {0u, 1u}) {
      const auto part = std::span(bytes).subspan(from, n);
      EXPECT_EQ(crc32(part), plain(part, 0)) << n;
      EXPECT_EQ(crc32(part, 0x12345678), plain(part, 0x12345678)) << n;
    }
  }
}

TEST(Compression, EveryWayToFoldAMessageKeepsItsChecksum) {
  const auto bytes = noise(3000);
  for (const Crc32Fold fold : crc32_folds()) {
    for (const std::size_t n : {256u, 300u, 1024u, 2999u}) {
      const auto message = std::span(bytes).first(n);
      const Folded folded = fold(message, ~std::uint32_t{77});
      EXPECT_LE(folded.consumed, n);
      EXPECT_GT(folded.consumed + 256, n);
      const std::uint32_t few = plain(std::span(folded.bytes).first(folded.used), 0xffffffff);
      EXPECT_EQ(plain(message.subspan(folded.consumed), few), plain(message, 77)) << n;
    }
  }
}

TEST(Compression, InflateWantsExactlyTheBytesThatWereDeflated) {
  // "aaaaaaaaaa", deflated.
  const unsigned char deflated[] = {0x4b, 0x84, 0x03, 0x00};
  std::vector<std::byte> out(10);
  EXPECT_TRUE(inflate(std::as_bytes(std::span(deflated)), out));
  EXPECT_EQ(out[9], std::byte{'a'});
  out.resize(9);
  EXPECT_FALSE(inflate(std::as_bytes(std::span(deflated)), out));
  out.resize(11);
  EXPECT_FALSE(inflate(std::as_bytes(std::span(deflated)), out));
  EXPECT_FALSE(inflate(std::as_bytes(std::span(deflated)).first(3), out));
}

}  // namespace
}  // namespace tenon
