#include "io/support/sha256.h"

#include "support/matchers.h"

namespace tenon {
namespace {

std::string hash(std::string_view text, std::size_t piece) {
  Sha256 sha;
  for (std::size_t at = 0; at < text.size(); at += piece)
    sha.add(std::as_bytes(std::span(text.substr(at, piece))));
  return sha.hex();
}

TEST(Sha256, GivesTheKnownHashesWhateverThePieces) {
  for (const std::size_t piece : {1u, 7u, 64u, 1000u}) {
    EXPECT_EQ(hash("", piece), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hash("abc", piece),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", piece),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(hash(std::string(1000, 'a'), piece),
              "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
  }
}

TEST(Sha256, IsTheSameWithAndWithoutTheProcessorsOwnInstructions) {
  for (const std::size_t n : {0u, 1u, 55u, 56u, 63u, 64u, 65u, 1000u, 4096u}) {
    const std::string text(n, 'x');
    EXPECT_EQ(hash(text, 1000), Sha256::hex_by_plain_code(std::as_bytes(std::span(text)))) << n;
  }
}

}  // namespace
}  // namespace tenon
