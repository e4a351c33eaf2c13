// Random archives: every way of reading one gives the same elements, and what is written of it is
// read again.
#include <random>

#include "io/hand_made.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/checkpoint.h"
#include "tenon/convert.h"
#include "tenon/save.h"

namespace tenon {
namespace {

namespace hand = hand_made;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint32_t>(n));
  }
  template <class T, std::size_t N>
  const T& one_of(const T (&of)[N]) {
    return of[below(N)];
  }

 private:
  std::mt19937 engine_;
};

struct Kind {
  const char* name;
  std::int64_t itemsize;
};
constexpr Kind kKinds[] = {{"ByteStorage", 1},  {"UntypedStorage", 1},      {"UntypedStorage", 1},
                           {"FloatStorage", 4}, {"HalfStorage", 2},         {"DoubleStorage", 8},
                           {"LongStorage", 8},  {"ComplexFloatStorage", 8}, {"CharStorage", 1}};
constexpr const char* kDTypes[] = {"uint8",     "uint16",  "uint32", "uint64",     "float8_e5m2",
                                   "complex32", "float32", "int64",  "complex128", "float16"};

// One or two storages with a few tensors over each, most of which lie inside of it.
std::string archive(Random& random) {
  hand::Archive out;
  std::vector<std::pair<std::string, std::string>> entries;
  for (std::int64_t s = random.below(2); s >= 0; --s) {
    const std::string key = std::to_string(s);
    const Kind kind = random.one_of(kKinds);
    const std::int64_t numel = random.below(40) / kind.itemsize;
    std::string bytes;
    for (std::int64_t i = 0; i < numel * kind.itemsize; ++i)
      bytes.push_back(static_cast<char>(random.below(256)));
    // Now and then the same bytes under both names that they may have.
    const bool both = kind.itemsize == 1 && random.below(2) == 0;
    const char* dtype = random.one_of(kDTypes);
    for (std::int64_t t = random.below(4); t >= 0; --t) {
      if (random.below(3) == 0) dtype = random.one_of(kDTypes);
      const bool untyped = std::string(kind.name) == "UntypedStorage";
      const bool named = untyped ? !both || random.below(2) == 0 : random.below(4) == 0;
      const char* name = both && kind.name != std::string("CharStorage")
                             ? (named ? "UntypedStorage" : "ByteStorage")
                             : kind.name;
      std::vector<std::int64_t> sizes, strides;
      for (std::int64_t d = random.below(3); d > 0; --d) {
        sizes.push_back(random.below(4));
        strides.push_back(random.below(3));
      }
      entries.emplace_back(key + "-" + std::to_string(t),
                           hand::tensor(hand::storage(name, key, numel), random.below(4), sizes,
                                        strides, named ? dtype : ""));
    }
    out.storages.emplace_back(key, std::move(bytes));
  }
  out.value = hand::dict(entries);
  out.byte_order = random.below(3) == 0 ? "big" : "little";
  out.alignment = random.below(2) == 0 ? 64 : 1;
  return out.bytes();
}

std::string elements(const Value& value) {
  const Tensor packed = value.as_tensor().contiguous();
  const std::string own(static_cast<const char*>(packed.data_ptr()),
                        static_cast<std::size_t>(packed.numel() * itemsize(packed.dtype())));
  return std::string(info(packed.dtype()).name) + packed.shape().repr() + own;
}

std::vector<std::string> all_elements(const Value& state) {
  std::vector<std::string> out;
  for (const auto& [name, value] : state.entries())
    out.push_back(name.as_string() + elements(value));
  return out;
}

std::vector<std::string> streamed(const Checkpoint& file) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const TensorFacts& facts = file.tensors()[i];
    out.push_back(facts.name + std::string(info(facts.dtype).name) + facts.shape.repr());
    file.read(i, [&](std::span<const std::byte> piece) {
      out.back().append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
  }
  return out;
}

struct Counts {
  int read = 0, written = 0, refused = 0;
};

void round_trips(const std::string& path, const TempDir& dir, Counts& counts) {
  const Checkpoint file = Checkpoint::open(path);
  const std::vector<std::string> expected = streamed(file);
  EXPECT_EQ(all_elements(file.load()), expected);
  try {
    EXPECT_EQ(all_elements(file.load({.mmap = true})), expected);
  } catch (const FormatError& error) {
    EXPECT_NE(std::string(error.what()).find("without .mmap"), std::string::npos) << error.what();
  }
  ++counts.read;
  for (const char* to : {"out.pth", "out.safetensors", "saved.pth", "saved.safetensors"}) {
    for (const bool compact : {false, true}) {
      const SaveOptions options{.compact = compact, .durable = false};
      try {
        if (to[0] == 'o')
          convert(path, dir.file(to), {.save = options});
        else
          save(file.load(), dir.file(to), options);
      } catch (const ValueError&) {
        ++counts.refused;
        continue;
      }
      ++counts.written;
      EXPECT_EQ(all_elements(load(dir.file(to))), expected) << to << (compact ? ", compact" : "");
      EXPECT_EQ(all_elements(load(dir.file(to), {.mmap = true})), expected) << to;
    }
  }
}

// In another dtype, too, for which some share too much.
void widened(const std::string& path, const TempDir& dir) {
  for (const char* to : {"out.pth", "out.safetensors"}) {
    try {
      convert(path, dir.file(to), {.dtype = float64, .save = {.durable = false}});
    } catch (const ValueError&) {
      continue;
    }
    const Value state = load(dir.file(to));
    for (const auto& [name, value] : state.entries()) {
      const DType dtype = value.as_tensor().dtype();
      EXPECT_TRUE(!is_floating_point(dtype) || dtype == float64) << name.as_string();
    }
  }
}

TEST(RandomStorages, AreReadInOneWayAndAgainWhenTheyAreWritten) {
  const TempDir dir;
  Counts counts;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const std::string path = dir.write("in.pth", archive(random));
    try {
      round_trips(path, dir, counts);
      widened(path, dir);
    } catch (const FormatError& error) {
      // Only the archive itself may be wrong.
      EXPECT_EQ(std::string(error.what()).find("out."), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find("saved."), std::string::npos) << error.what();
    }
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  // The tests are of something.
  EXPECT_GT(counts.read, 100);
  EXPECT_GT(counts.written, 500);
  EXPECT_GT(counts.refused, 20);
}

}  // namespace
}  // namespace tenon
