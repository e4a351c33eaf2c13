#include "checks.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "live_bytes.h"
#include "same_tree.h"
#include "support/temp_dir.h"
#include "support/written_file.h"
#include "tenon/checkpoint.h"
#include "tenon/convert.h"
#include "tenon/error.h"
#include "tenon/save.h"

namespace tenon {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

[[noreturn]] void fail(const std::string& what) {
  std::cerr << "check_file: " << what << std::endl;
  std::abort();
}

// What is done with so many bytes takes no more memory than they warrant.
template <class F>
auto measured(const char* what, std::size_t bytes, F&& f) {
  const LiveBytes counted;
  auto result = f();
  if (LiveBytes::peak() > static_cast<std::int64_t>(kMostBytes + 20 * bytes)) {
    fail(std::string(what) + " took " + std::to_string(LiveBytes::peak()) + " bytes for " +
         std::to_string(bytes));
  }
  return result;
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

using Bytes = std::span<const std::byte>;

// What was written is ours in every name, is read again, and holds what it was made of.
void check_written(Bytes file, const Value& value, FileFormat format) {
  if (format == FileFormat::pth) {
    const std::string wrong =
        wrong_in_archive({reinterpret_cast<const char*>(file.data()), file.size()});
    if (!wrong.empty()) fail("what was written has " + wrong);
  }
  try {
    const Value back = measured("reading what was written", file.size(), [&] {
      return Checkpoint::open(file).load({.map_location = "cpu"});
    });
    const std::string wrong = differs(value, back, format == FileFormat::pth);
    if (!wrong.empty()) fail("what was written is not what was saved: " + wrong);
  } catch (const Error& error) {
    fail(std::string("what was written is not read: ") + error.what());
  }
}

void save_and_read(Bytes bytes, const Value& value, FileFormat format) {
  // The file is made in memory, and may be larger than what it was read from.
  const auto file =
      measured("saving", bytes.size() + kMostBytes / 20, [&] { return saved(value, format); });
  if (file) check_written(*file, value, format);
}

// From file to file, in pieces.
void convert_and_read(Bytes bytes, const Value& value, FileFormat format) {
  static const TempDir folder;
  static const std::string from = folder.file("in"), to = folder.file("out");
  folder.write("in", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const bool written = measured("converting", bytes.size(), [&] {
    try {
      const SaveOptions options{.format = format, .durable = false};
      ConvertOptions dry{.save = options};
      dry.save.dry_run = true;
      if (convert(from, to, dry).bytes > kMostBytes) return false;
      convert(from, to, {.save = options});
      return true;
    } catch (const InternalError& error) {
      fail(error.what());
    } catch (const Error&) {
    }
    return false;
  });
  if (!written) {
    if (std::filesystem::exists(to)) fail("refused, and something was written");
    return;
  }
  const std::string file = TempDir::read(to);
  std::filesystem::remove(to);
  check_written(std::as_bytes(std::span(file)), value, format);
}

}  // namespace

void check_file(Bytes bytes) {
  for (const bool inert : {false, true}) {
    const std::optional<Value> value =
        measured("loading", bytes.size(), [&] { return loaded(bytes, inert); });
    if (!value) continue;
    int places = 100'000;
    const bool large = has_more_places(*value, places);
    for (const FileFormat format : {FileFormat::pth, FileFormat::safetensors}) {
      if (format == FileFormat::safetensors && large) continue;
      save_and_read(bytes, *value, format);
      if (!inert) convert_and_read(bytes, *value, format);
    }
  }
}

}  // namespace tenon
