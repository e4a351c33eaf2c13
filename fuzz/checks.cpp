#include "checks.h"

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "live_bytes.h"
#include "same_tree.h"
#include "support/written_file.h"
#include "tenon/checkpoint.h"
#include "tenon/error.h"
#include "tenon/save.h"

namespace tenon {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

[[noreturn]] void fail(const std::string& what) {
  std::cerr << "check_file: " << what << std::endl;
  std::abort();
}

void read_tensors(const Checkpoint& file) {
  for (std::size_t i = 0; i < file.tensors().size() && i < 50; ++i) {
    const TensorFacts& facts = file.tensors()[i];
    const auto expected = static_cast<std::uint64_t>(facts.shape.numel()) *
                          static_cast<std::uint64_t>(itemsize(facts.dtype));
    // A few bytes seen as terabytes are the caller's to ask for.
    if (expected > kMostBytes) continue;
    std::uint64_t read = 0;
    try {
      file.read(i, [&](std::span<const std::byte> piece) { read += piece.size(); });
    } catch (const FormatError&) {
      continue;
    }
    if (read != 0 && read != expected) fail("a tensor of another number of bytes");
  }
}

// Whether there are more than so many values when those that are shared count in each place: JSON
// has them written out.
bool has_more_places(const Value& value, int& left) {
  if (--left < 0) return true;
  const auto any = [&](std::initializer_list<Value> parts) {
    for (const Value& part : parts) {
      if (has_more_places(part, left)) return true;
    }
    return false;
  };
  switch (value.kind()) {
    case Value::Kind::list:
    case Value::Kind::tuple:
    case Value::Kind::set:
      for (const Value& item : value.items()) {
        if (has_more_places(item, left)) return true;
      }
      return false;
    case Value::Kind::dict:
      for (const auto& [key, item] : value.entries()) {
        if (any({key, item})) return true;
      }
      return any({value.attributes()});
    case Value::Kind::object:
      return any({value.object_arguments(), value.object_state(), value.object_items()});
    default: return false;
  }
}

// The value, if there is one.
std::optional<Value> loaded(std::span<const std::byte> bytes, bool inert) {
  try {
    const Checkpoint file = Checkpoint::open(bytes, {.inert = inert});
    file.facts();
    read_tensors(file);
    Value first = file.load({.verify = false, .map_location = "cpu"});
    file.load({.map_location = "meta"});
    file.load({.map_location = "cpu",
               .filter = [](std::string_view name) { return name.size() % 2 == 0; }});
    if (first.kind() != file.tree().kind()) fail("a value of another kind than the tree's");
    file.verify();
    return first;
  } catch (const InternalError& error) {
    fail(error.what());
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

std::optional<std::vector<std::byte>> saved(const Value& value, FileFormat format) {
  try {
    if (save(value, "unused", {.format = format, .dry_run = true}).bytes > kMostBytes)
      return std::nullopt;
    return save_to_memory(value, {.format = format});
  } catch (const InternalError& error) {
    fail(error.what());
  } catch (const Error&) {
  }
  return std::nullopt;
}

void save_and_read(const Value& value, FileFormat format) {
  const auto file = saved(value, format);
  if (!file) return;
  if (format == FileFormat::pth) {
    const std::string wrong =
        wrong_in_archive({reinterpret_cast<const char*>(file->data()), file->size()});
    if (!wrong.empty()) fail("what was written has " + wrong);
  }
  try {
    const Value back = Checkpoint::open(*file).load({.map_location = "cpu"});
    const std::string wrong = differs(value, back, format == FileFormat::pth);
    if (!wrong.empty()) fail("what was written is not what was saved: " + wrong);
  } catch (const Error& error) {
    fail(std::string("what was written is not read: ") + error.what());
  }
}

}  // namespace

void check_file(std::span<const std::byte> bytes) {
  for (const bool inert : {false, true}) {
    std::optional<Value> value;
    {
      const LiveBytes counted;
      value = loaded(bytes, inert);
      const auto most = static_cast<std::int64_t>(kMostBytes + 20 * bytes.size());
      if (LiveBytes::peak() > most) {
        fail("it took " + std::to_string(LiveBytes::peak()) + " bytes for an input of " +
             std::to_string(bytes.size()));
      }
    }
    if (!value) continue;
    save_and_read(*value, FileFormat::pth);
    int places = 100'000;
    if (!has_more_places(*value, places)) save_and_read(*value, FileFormat::safetensors);
  }
}

}  // namespace tenon
