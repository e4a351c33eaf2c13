// A sample of what the fuzzers of files make, each time the same: `./dev fuzz` makes more of it.
// What is wrong ends the program with a line that says so (fuzz/checks.h).
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

// LLVMFuzzerTestOneInput of fuzz/pickle_fuzz.cpp and of fuzz/notes_fuzz.cpp.
extern "C" int pickle_fuzz(const std::uint8_t* data, std::size_t size);
extern "C" int notes_fuzz(const std::uint8_t* data, std::size_t size);

namespace tenon {
namespace {

using Target = int (*)(const std::uint8_t* data, std::size_t size);

// So many inputs, from short ones to those that the fuzzers begin with.
void run(Target target, std::uint32_t seed, int inputs) {
  std::mt19937 random(seed);
  for (int i = 0; i < inputs; ++i) {
    std::vector<std::uint8_t> bytes(8 + random() % 400);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    EXPECT_EQ(target(bytes.data(), bytes.size()), 0) << i;
  }
}

TEST(FuzzSample, ProgramsOfPicklesAreReadWrittenAndReadAgain) { run(pickle_fuzz, 1, 300); }
TEST(FuzzSample, NotesInSafetensorsAreReadWrittenAndReadAgain) { run(notes_fuzz, 2, 300); }

}  // namespace
}  // namespace tenon
