// Properties of everything that can be written: a file of ours says nothing but what the lists of
// support/written_file.cpp have, we read it ourselves, and it holds what was saved.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>

#include "io/files.h"
#include "io/same_values.h"
#include "support/random_values.h"
#include "support/temp_dir.h"
#include "support/wrappers.h"
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

// A chain of so many levels of all kinds, some of which are used again elsewhere.
Value random_chain(std::mt19937& random, int levels) {
  std::vector<Value> made;  // of the chain, to come again
  const Value names[] = {Value("a"), Value(1), Value("_metadata")};
  Value chain = std::vector<Value>{1, zeros({1}), Value(Device("cuda:1")), Value(float32),
                                   Value::set({1})}[random() % 5];
  for (int level = 0; level < levels; ++level) {
    const Value other = made.empty() || random() % 8 != 0 ? Value(2) : made[random() % made.size()];
    switch (random() % 60) {
      case 0: {
        const Tensor tensor = zeros({1});
        tensor.set_attribute("a", chain);
        chain = tensor;
        break;
      }
      case 1: {
        const Tensor tensor = nn::make_parameter(zeros({1}));
        tensor.set_attribute("a", Value::list({chain, other}));
        chain = tensor;
        break;
      }
      case 2:
        chain = Value::ordered_dict({{"k", other}}, Value::dict({{names[random() % 3], chain}}));
        break;
      case 3:
        chain = Value::ordered_dict(
            {}, Value::dict(
                    {{"_metadata", Value::ordered_dict({{"m", Value::dict({{"v", chain}})}})}}));
        break;
      case 4: {
        const Value counts = Value::dict({{"a", chain}});
        chain = Value::object("collections.Counter", Value::tuple({counts}), {});
        break;
      }
      case 5: {
        const Tensor wrapper =
            make_tensor<ScaledTensor>(chain.is_tensor() ? chain.as_tensor() : zeros({1}), 2.0);
        chain = Value::list({wrapper, chain});
        break;
      }
      case 6: chain = Value::ordered_dict({{"k", chain}, {"l", other}}); break;
      default:
        switch (random() % 3) {
          case 0: chain = Value::list({other, chain}); break;
          case 1: chain = Value::tuple({chain, other}); break;
          default: chain = Value::dict({{"k", chain}, {"l", other}});
        }
    }
    if (random() % 4 == 0) made.push_back(chain);
  }
  return chain;
}

TEST(WrittenFiles, ARandomTreeNearTheDepthThatIsReadIsRefusedOrRead) {
  int written = 0, refused = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    const Value chain = random_chain(random, 700 + static_cast<int>(random() % 310));
    const auto file = saved(chain, FileFormat::pth);
    ++(file ? written : refused);
    if (!file) continue;
    ASSERT_EQ(wrong_with(*file, FileFormat::pth, chain, false), "") << seed;
  }
  EXPECT_GT(written, 20);
  EXPECT_GT(refused, 20);
}

// What is written once and used deeper is as deep as there.
TEST(WrittenFiles, WhatIsSharedIsNotTooDeepToRead) {
  for (const int shared_levels : {1, 300, 600}) {
    Value shared = Value::list({1});
    for (int level = 1; level < shared_levels; ++level) shared = Value::list({shared});
    const Tensor tensor = zeros({1});
    tensor.set_attribute("a", shared);
    for (const Value& bottom :
         {shared, Value(tensor), Value::ordered_dict({}, Value::dict({{"x", shared}}))}) {
      int written = 0, refused = 0;
      for (int levels = 984 - shared_levels; levels <= 1001 - shared_levels; ++levels) {
        Value tree = bottom;
        for (int level = 0; level < levels; ++level) tree = Value::list({tree});
        tree = Value::list({bottom, tree});
        const auto file = saved(tree, FileFormat::pth);
        ++(file ? written : refused);
        if (file) {
          EXPECT_EQ(wrong_with(*file, FileFormat::pth, tree, false), "") << levels;
        }
      }
      EXPECT_GT(written, 0) << shared_levels;
      EXPECT_GT(refused, 0) << shared_levels;
    }
  }
}

// Only a tensor can be given what it is in.
TEST(WrittenFiles, AValueThatContainsItselfIsRefused) {
  const auto expect_refused = [](const Value& value, const Tensor& tensor) {
    EXPECT_THROW(save_to_memory(value), ValueError);
    tensor.set_attribute("a", Value());
    EXPECT_NO_THROW(save_to_memory(value));
  };
  for (const bool is_parameter : {false, true}) {
    const auto made = [&] { return is_parameter ? nn::make_parameter(zeros({2})) : zeros({2}); };
    const auto held = [&](const std::function<Value(const Tensor&)>& around) {
      const Tensor tensor = made();
      const Value value = around(tensor);
      tensor.set_attribute("a", value);
      expect_refused(value, tensor);
    };
    held([](const Tensor& tensor) { return tensor; });
    held([](const Tensor& tensor) { return Value::list({tensor}); });
    held([](const Tensor& tensor) { return Value::list({1, Value::dict({{"k", tensor}})}); });
    held([](const Tensor& tensor) { return Value::tuple({tensor}); });
    held([](const Tensor& tensor) { return Value::set({tensor}); });
    held([](const Tensor& tensor) { return Value::ordered_dict({{"k", tensor}}); });
    held([](const Tensor& tensor) {
      return Value::ordered_dict({}, Value::dict({{"x", Value::list({tensor})}}));
    });
    held([](const Tensor& tensor) {
      return Value::ordered_dict(
          {},
          Value::dict({{"_metadata", Value::ordered_dict({{"", Value::dict({{"t", tensor}})}})}}));
    });
    held([](const Tensor& tensor) { return Value(make_tensor<ScaledTensor>(tensor, 2.0)); });
  }
  // Twice in one place is no circle.
  const Tensor tensor = zeros({2});
  const Value list = Value::list({1});
  tensor.set_attribute("a", list);
  EXPECT_NO_THROW(save_to_memory(Value::list({list, tensor, list})));
}

TEST(WrittenFiles, KeysOfMetadataAreThoseThatAreRead) {
  for (const Value& odd : {Value(std::nan("")), Value(1e300), Value::list({}), Value(zeros({1})),
                           Value::tuple({Value::set({})})}) {
    const Value notes[] = {
        Value::dict({{odd, 1}}),
        Value::dict({{"_metadata", Value::ordered_dict({{odd, Value::dict({})}})}}),
        Value::dict({{"_metadata", Value::dict({{odd, Value::dict({})}})}}),
        Value::dict({{"_metadata", Value::ordered_dict({{"", Value::dict({{odd, 1}})}})}}),
        Value::dict({{"_metadata", Value::ordered_dict({{"", Value::ordered_dict({{odd, 1}})}})}}),
        Value::dict({{"_metadata",
                      Value::ordered_dict({}, Value::dict({{"x", Value::dict({{odd, 1}})}}))}})};
    for (const Value& attributes : notes) {
      EXPECT_THROW(save_to_memory(Value::ordered_dict({{"a", 1}}, attributes)), ValueError)
          << odd << attributes;
    }
  }
  const Value fine = Value::ordered_dict(
      {{"a", 1}},
      Value::dict({{"_metadata", Value::ordered_dict({{1, Value::dict({{2.5, 1}})}})}, {3, 4}}));
  expect_same(fine, Checkpoint::open(save_to_memory(fine)).load());
}

// ---- what others wrote

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_symlink() || !entry.is_regular_file()) continue;
#ifdef TENON_SANITIZED
    // The larger ones are the same code more often, in a minute; other builds look at them.
    if (entry.file_size() > 200'000) continue;
#endif
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Loads the file, if it opens, and looks at what is written of it. (What load() reads and no list
// of tensors can be made of, as two of them would have one name, is written as well.)
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
