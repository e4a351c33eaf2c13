// Properties of everything that can be written: a file of ours says nothing but what the lists of
// support/written_file.cpp have, we read it ourselves, and it holds what was saved.
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "io/files.h"
#include "io/same_values.h"
#include "support/random_values.h"
#include "support/temp_dir.h"
#include "support/written_file.h"
#include "tenon/convert.h"
#include "tenon/save.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

std::string message(const std::exception& error) { return error.what(); }

// Nothing: it is refused, with an error that is not about our own mistakes.
std::optional<std::string> saved(const Value& value, FileFormat format) {
  try {
    // Expanded tensors are written out in safetensors: what a small file says may be terabytes.
    if (save(value, "unused", {.format = format, .dry_run = true}).bytes > kMostBytes)
      return std::nullopt;
    const auto bytes = save_to_memory(value, {.format = format});
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  } catch (const InternalError& error) {
    ADD_FAILURE() << message(error);
  } catch (const Error&) {
  }
  return std::nullopt;
}

Value read_back(const std::string& file) {
  return Checkpoint::open(std::as_bytes(std::span(file))).load();
}

// What safetensors cannot say, it notes and leaves out.
constexpr SameOptions kSafetensors{
    .strides = false, .attributes = false, .shared_lists = false, .bits = false, .storages = false};

// Empty, or which property the file does not have.
std::string wrong_with(const std::string& file, FileFormat format, const Value& value,
                       bool same = true) {
  if (format == FileFormat::pth) {
    if (const std::string wrong = wrong_in_archive(file); !wrong.empty()) return "it has " + wrong;
  }
  try {
    const Value back = read_back(file);
    if (!same) return {};
    return SameValues(format == FileFormat::pth ? SameOptions() : kSafetensors).differ(value, back);
  } catch (const std::exception& error) {
    return "we do not read it: " + message(error);
  }
}

struct Outcome {
  int written = 0, refused = 0;
};

Outcome save_trees(std::uint64_t first, std::uint64_t count, const OddParts& odd,
                   FileFormat format) {
  Outcome outcome;
  int failures = 0;
  for (std::uint64_t seed = first; seed < first + count && failures < 10; ++seed) {
    RandomValues random(seed, odd);
    const Value tree = random.tree();
    const auto file = saved(tree, format);
    ++(file ? outcome.written : outcome.refused);
    if (!file) continue;
    const std::string wrong = wrong_with(*file, format, tree, !random.has_counter());
    EXPECT_EQ(wrong, "") << "seed " << seed;
    failures += !wrong.empty();
  }
  return outcome;
}

TEST(WrittenFiles, ATreeOfWhatFilesHoldIsWrittenAndReadAsItWas) {
  const Outcome outcome = save_trees(0, 1500, {}, FileFormat::pth);
  EXPECT_EQ(outcome.refused, 0);
}

TEST(WrittenFiles, TheSameTreesAreReadFromSafetensors) {
  const Outcome outcome = save_trees(0, 1500, {}, FileFormat::safetensors);
  // Tensors without data, and tensors among attributes, are refused there.
  EXPECT_GT(outcome.written, 750);
}

// Refused, or written as any other tree is.
void save_odd_trees(const OddParts& odd) {
  for (const FileFormat format : {FileFormat::pth, FileFormat::safetensors}) {
    const Outcome outcome = save_trees(100'000, 1500, odd, format);
    EXPECT_GT(outcome.written, 100);
  }
}

TEST(WrittenFiles, ATreeWithOddNamesIsRefusedOrWrittenAsAnyOther) {
  save_odd_trees({.names = true});
}

TEST(WrittenFiles, ATreeWithOddPartsOfTensorsIsRefusedOrWrittenAsAnyOther) {
  save_odd_trees({.parts = true});
}

TEST(WrittenFiles, ATreeWithOddKeysIsRefusedOrWrittenAsAnyOther) { save_odd_trees({.keys = true}); }

TEST(WrittenFiles, ATreeWithLongIntegersIsRefusedOrWrittenAsAnyOther) {
  save_odd_trees({.integers = true});
}

TEST(WrittenFiles, ATreeWithOddStoragesIsRefusedOrWrittenAsAnyOther) {
  save_odd_trees({.storages = true});
}

TEST(WrittenFiles, ATreeWithAttributesOfMetadataIsWrittenAsAnyOther) {
  save_odd_trees({.metadata = true});
}

// Objects that would be calls, or whose names would be code.
TEST(WrittenFiles, AnObjectOfAnotherNameIsRefused) {
  const Value none = Value::tuple({});
  for (const char* name :
       {"torch.per_x\nos\nsystem", "torch.per_tensor_affine\ncos\nsystem\n(X", "torch.per_x",
        "torch.per_tensor_affine.system", "os.system", "builtins.eval", "collections.OrderedDict",
        "torch.Size", "torch._utils._rebuild_tensor_v2", "sparse_tensor", "quantized_tensor",
        "nested_tensor", "layout", ""}) {
    for (const FileFormat format : {FileFormat::pth, FileFormat::safetensors}) {
      const Value object = Value::object(name, none, {});
      const auto file = saved(Value::dict({{"x", object}}), format);
      EXPECT_FALSE(file.has_value()) << name;
    }
  }
}

TEST(WrittenFiles, ASchemeOfQuantisationIsOneOfPyTorchs) {
  for (const char* scheme : {"torch.per_x\nos\nsystem", "os.system", "per_tensor_affine",
                             "torch.per_tensor_affine\n", "torch.float32", "torch.Size", ""}) {
    const Tensor data = zeros({2}, {.dtype = int8}).view(qint8);
    const Value object = Value::object("quantized_tensor", Value::tuple({}),
                                       Value::dict({{"data", data},
                                                    {"qscheme", scheme},
                                                    {"scale", 1.0},
                                                    {"zero_point", 0},
                                                    {"size", Shape{2}}}));
    for (const FileFormat format : {FileFormat::pth, FileFormat::safetensors}) {
      const auto file = saved(Value::dict({{"x", object}}), format);
      EXPECT_FALSE(file.has_value()) << scheme;
    }
  }
}

// As deep as we write, we read, whatever is at the bottom.
TEST(WrittenFiles, WhatIsWrittenIsNotTooDeepToRead) {
  const Tensor tensor = zeros({2});
  tensor.set_attribute("a", Value::list({Value::list({1})}));
  const Value bottoms[] = {1, tensor, Value::set({1}), Value::ordered_dict({{"a", 1}}),
                           Value::object("layout", Value::tuple({"torch.strided"}), {})};
  for (const Value& bottom : bottoms) {
    for (const FileFormat format : {FileFormat::pth, FileFormat::safetensors}) {
      Value tree = bottom;
      for (int depth = 1; depth <= 1003; ++depth) {
        tree = depth % 3 == 0 ? Value::tuple({tree}) : Value::dict({{"x", tree}});
        if (depth < 990) continue;
        const auto file = saved(tree, format);
        if (!file) continue;
        EXPECT_EQ(wrong_with(*file, format, tree, false), "") << depth;
      }
    }
  }
}

// ---- what others wrote

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_symlink() && entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Loads the file, if it opens, and looks at what is written of it. (What load() reads and no list of
// tensors can be made of, as two of them would have one name, is written as well.)
int save_again(const fs::path& path, bool inert) {
  Value value;
  try {
    value = Checkpoint::open(path, {.inert = inert}).load({.map_location = "cpu"});
  } catch (const Error&) {
    return 0;
  }
  int written = 0;
  for (const FileFormat format : {FileFormat::pth, FileFormat::safetensors}) {
    const auto file = saved(value, format);
    if (!file) continue;
    ++written;
    EXPECT_EQ(wrong_with(*file, format, value), "") << path << (inert ? ", inert" : "");
  }
  return written;
}

bool loads(const std::string& path) {
  try {
    load(path, {.map_location = "cpu"});
    return true;
  } catch (const Error&) {
    return false;
  }
}

int convert_to_archive(const fs::path& path, const TempDir& folder) {
  const std::string target = folder.file("converted.pth");
  try {
    ConvertOptions options;
    options.save.durable = false;
    options.save.format = FileFormat::pth;
    convert(path, target, options);
  } catch (const InternalError& error) {
    ADD_FAILURE() << path << ": " << message(error);
    return 0;
  } catch (const Error&) {
    return 0;
  }
  const std::string file = TempDir::read(target);
  EXPECT_EQ(wrong_in_archive(file), "") << path;
  EXPECT_TRUE(loads(target)) << path;
  fs::remove(target);
  return 1;
}

Outcome write_again(const fs::path& files, int& converted) {
  const TempDir folder;
  Outcome outcome;
  for (const fs::path& path : files_below(files)) {
    const int written = save_again(path, false) + save_again(path, true);
    ++(written > 0 ? outcome.written : outcome.refused);
    converted += convert_to_archive(path, folder);
  }
  return outcome;
}

TEST(WrittenFiles, WhatPyTorchWroteIsWrittenAgain) {
  int converted = 0;
  const Outcome outcome = write_again(fixture(""), converted);
  EXPECT_GT(outcome.written, 60);
  EXPECT_GT(converted, 60);
}

TEST(WrittenFiles, AHostileFileThatOpensIsWrittenAsAnyOther) {
  const TempDir folder;
  for (const char* name : {"corpus", "more"}) {
    const std::string command = std::string("tar -xJf '" TENON_SOURCE_DIR "/tests/hostile/") +
                                name + ".tar.xz' -C '" + folder.file("") + "'";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  int converted = 0;
  const Outcome outcome = write_again(folder.file(""), converted);
  EXPECT_GT(outcome.written, 20);
  EXPECT_GT(outcome.refused, 200);
  EXPECT_GT(converted, 20);
}

}  // namespace
}  // namespace tenon
