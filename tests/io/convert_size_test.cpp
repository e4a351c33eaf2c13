// Small files whose conversion would be large.
#include <filesystem>

#include "io/hand_made.h"
#include "io/read/tensors.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/checkpoint.h"
#include "tenon/convert.h"
#include "tenon/save.h"

namespace tenon {
namespace {

namespace hand = hand_made;

// So many tensors of n elements, all of which are one byte of the file; each another one, so that
// none lies in the others.
std::string repeating(std::size_t tensors, std::int64_t n) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (std::size_t i = 0; i < tensors; ++i) {
    const std::string storage =
        hand::storage("ByteStorage", "0", static_cast<std::int64_t>(tensors));
    entries.emplace_back(std::to_string(i),
                         hand::tensor(storage, static_cast<std::int64_t>(i), {n}, {0}));
  }
  return hand::Archive{hand::dict(entries), {{"0", std::string(tensors, 'x')}}}.bytes();
}

TEST(ConvertSize, MuchMoreThanIsStoredIsRefusedUnlessAskedFor) {
  const TempDir dir;
  const std::string path = dir.write("in.pth", repeating(10, std::int64_t{200} << 20));
  for (const std::uint64_t shard_size : {std::uint64_t{0}, std::uint64_t{1'000'000}}) {
    for (const bool dry_run : {false, true}) {
      ConvertOptions options;
      options.save = {.format = FileFormat::safetensors,
                      .shard_size = shard_size,
                      .durable = false,
                      .dry_run = dry_run};
      const std::string to = dir.file("out");
      expect_error<ValueError>([&] { convert(path, to, options); }, "10 bytes", "2097152000",
                               ".any_size", "--any-size");
      EXPECT_FALSE(std::filesystem::exists(to));
      // A part of it may be had.
      options.filter = [](std::string_view name) { return name == "1"; };
      options.save.dry_run = true;
      EXPECT_NO_THROW(convert(path, to, options));
    }
  }
  ConvertOptions options{.any_size = true};
  options.save = {.format = FileFormat::safetensors, .dry_run = true};
  EXPECT_GT(convert(path, dir.file("out"), options).bytes, std::uint64_t{2000} << 20);
  // An archive holds them as they are.
  EXPECT_LT(convert(path, dir.file("out.pth"), {}).bytes, 100'000u);
}

TEST(PackingCost, IsOfElementsThatLieApart) {
  constexpr std::int64_t kAny = std::int64_t{1} << 62;
  EXPECT_EQ(packing_cost({100, 8}, {8, 1}, float32), 3200u);
  EXPECT_EQ(packing_cost({1000}, {0}, float32), 4000u);            // one element again and again
  EXPECT_EQ(packing_cost({100, 8}, {16, 2}, uint8), 800u);         // every second one
  EXPECT_EQ(packing_cost({100, 100}, {1, 100}, uint8), 160'000u);  // transposed
  EXPECT_EQ(packing_cost({2, 2, 2, 2}, {0, 1, 0, 1}, uint8), 256u);
  EXPECT_EQ(packing_cost({0, 2}, {1, kAny}, float32), 0u);  // strides of nothing may be anything
  EXPECT_EQ(packing_cost({0, kAny, kAny}, {1, 1, 1}, float32), 0u);
  EXPECT_EQ(packing_cost({2, 2}, {kAny, 1}, uint8), 4u * 16u);
  EXPECT_EQ(packing_cost({}, {}, float32), 4u);
}

TEST(ConvertSize, AGibibyteAlwaysMayBe) {
  const TempDir dir;
  const std::string path = dir.write("in.pth", repeating(4, std::int64_t{200} << 20));
  ConvertOptions options;
  options.save.dry_run = true;
  EXPECT_NO_THROW(convert(path, dir.file("out.safetensors"), options));
}

TEST(ConvertSize, MoreThanAnyFileCanBeDoesNotBecomeLittle) {
  const TempDir dir;
  // Together 2^64 bytes and 16.
  const std::string path = dir.write("in.pth", repeating(4, (std::int64_t{1} << 62) + 4));
  for (const bool any_size : {false, true}) {
    ConvertOptions options{.any_size = any_size};
    options.save.dry_run = true;
    expect_error<ValueError>([&] { convert(path, dir.file("out.safetensors"), options); }, "bytes");
  }
  const Tensor one = ones({1}, {.dtype = uint8}), two = ones({1}, {.dtype = uint8}),
               three = ones({1}, {.dtype = uint8});
  const auto large = [](const Tensor& tensor) { return tensor.expand({std::int64_t{1} << 62}); };
  expect_error<ValueError>(
      [&] {
        save(Value::dict({{"a", large(one)}, {"b", large(two)}, {"c", large(three)}}),
             dir.file("a.safetensors"));
      },
      "bytes together", "leave some out");
}

TEST(ConvertSize, ATensorThatCannotBeCountedInAWiderDTypeIsRefused) {
  const TempDir dir;
  constexpr std::int64_t most = std::int64_t{1} << 62;
  const auto with = [&](std::int64_t offset, const std::vector<std::int64_t>& sizes) {
    const std::string storage = hand::storage("UntypedStorage", "0", 1);
    const std::vector<std::int64_t> strides(sizes.size(), 0);
    return dir.write(
        std::to_string(offset) + "-" + std::to_string(sizes[0]) + ".pth",
        hand::Archive{
            hand::dict({{"a", hand::tensor(storage, offset, sizes, strides, "float8_e5m2")}}),
            {{"0", "x"}}}
            .bytes());
  };
  for (const auto& path : {with(0, {most}), with(0, {0, most}), with(most, {0})}) {
    for (const char* to : {"out.pth", "out.safetensors"}) {
      ConvertOptions options{.dtype = float32, .any_size = true};
      options.save.dry_run = true;
      expect_error<ValueError>([&] { convert(path, dir.file(to), options); }, "a cannot be float32",
                               "overflow");
    }
  }
}

TEST(ConvertSize, MemoryOfAnElementThatIsNegatedInAnotherDTypeIsOfBoth) {
  // The negative is taken after the conversion, so that both dtypes are there at once.
  const TempDir dir;
  constexpr std::uint64_t n = 100'000, apart = 2 * n - 1;
  const Tensor negative = ones({n}, {.dtype = complex64}).conj().imag();
  ASSERT_TRUE(negative.is_neg());
  const std::string path = dir.file("in.pth"), to = dir.file("out.safetensors");
  save(Value::dict({{"a", negative}}), path, {.durable = false});
  ConvertOptions options{.dtype = float64, .memory = apart * (4 + 8) - 1};
  options.save.durable = false;
  expect_error<ValueError>([&] { convert(path, to, options); },
                           std::to_string(apart * (4 + 8)) + " bytes of memory", "allow more");
  EXPECT_FALSE(std::filesystem::exists(to));
  ++options.memory;
  convert(path, to, options);
  const Checkpoint written = Checkpoint::open(to);
  EXPECT_EQ(written.tensors()[0].dtype, float64);
}

TEST(ConvertSize, WhatIsDeflatedCountsAsItIsStored) {
  const TempDir dir;
  constexpr std::int64_t stored = 10'000'000, all = stored * 190;
  const hand::Archive archive{
      hand::dict({{"a", hand::tensor(hand::storage("ByteStorage", "0", all), 0, {all}, {1})}}),
      {{"0", std::string(stored, 'x')}},
      "little",
      64,
      static_cast<std::uint64_t>(all)};
  const std::string path = dir.write("in.pth", archive.bytes());
  for (const char* to : {"out.pth", "out.safetensors"}) {
    ConvertOptions options{.memory = std::uint64_t{1} << 40};
    options.save.dry_run = true;
    EXPECT_THROW(convert(path, dir.file(to), options), FormatError);  // it is memory, too
    options.limits = ReadLimits().times(100);
    expect_error<ValueError>([&] { convert(path, dir.file(to), options); }, "10000000 bytes",
                             "1900000000", "deflated");
    options.any_size = true;
    EXPECT_NO_THROW(convert(path, dir.file(to), options));
  }
}

// What we write is converted back, whatever it is: many tensors are more names than bytes. (Parts of
// it that only the notes needed are let go of.)
TEST(ConvertSize, ManyTensorsOfAFewBytesCostNoMoreThanTheirNamesWarrant) {
  const TempDir dir;
  StateDict state;
  for (int i = 0; i < 20'000; ++i) state.set("t" + std::to_string(i), zeros({2}));
  save(state, dir.file("a.pth"), {.durable = false});
  ConvertOptions options;
  options.save.durable = false;
  convert(dir.file("a.pth"), dir.file("b.safetensors"), options);
  options.limits.memory = std::uint64_t{7} << 20;  // the rest is for each byte of the file
  convert(dir.file("b.safetensors"), dir.file("c.pth"), options);
  EXPECT_EQ(load(dir.file("c.pth")).entries().size(), 20'000u);
  save(state, dir.file("d"), {.shard_size = 100'000, .durable = false});
  convert(dir.file("d"), dir.file("e.pth"), options);
  EXPECT_EQ(load(dir.file("e.pth")).entries().size(), 20'000u);
}

}  // namespace
}  // namespace tenon
