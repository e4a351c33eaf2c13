// Any bytes at all as a checkpoint: opened, inert and not, loaded, verified, and every tensor read. Nothing may crash, read
// outside, or throw what is no tenon::Error; what loads twice is the same twice.
#include <tenon/checkpoint.h>
#include <tenon/error.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>

namespace {

using namespace tenon;

void look_at(std::span<const std::byte> bytes, bool inert) {
  try {
    const Checkpoint file = Checkpoint::open(bytes, {.inert = inert});
    file.facts();
    for (std::size_t i = 0; i < file.tensors().size() && i < 50; ++i) {
      std::uint64_t read = 0;
      try {
        file.read(i, [&](std::span<const std::byte> piece) { read += piece.size(); });
      } catch (const FormatError&) {
        continue;
      }
      const TensorFacts& facts = file.tensors()[i];
      const auto expected = static_cast<std::uint64_t>(facts.shape.numel() * itemsize(facts.dtype));
      if (read != 0 && read != expected) std::abort();
    }
    const Value first = file.load({.verify = false, .map_location = "cpu"});
    file.load({.map_location = "meta"});
    file.load({.map_location = "cpu",
               .filter = [](std::string_view name) { return name.size() % 2 == 0; }});
    if (first.kind() != file.tree().kind()) std::abort();
    file.verify();
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  look_at(bytes, false);
  look_at(bytes, true);
  return 0;
}
