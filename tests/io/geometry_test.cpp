// Numbers of a file that would overflow, or lead outside of what is there.
#include <filesystem>
#include <limits>

#include "io/hand_made.h"
#include "io/read/records.h"
#include "io/read/tensors.h"
#include "io/write/compact.h"
#include "io/write/overlay.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/checkpoint.h"
#include "tenon/convert.h"
#include "tenon/save.h"

namespace tenon {
namespace {

namespace hand = hand_made;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// What is read of it in every way there is.
void read_in_every_way(const std::string& bytes) {
  const TempDir dir;
  const std::string path = dir.write("in.pth", bytes);
  const Checkpoint file = Checkpoint::open(path);
  for (const bool mmap : {false, true}) file.load({.mmap = mmap});
  for (std::size_t i = 0; i < file.tensors().size(); ++i)
    file.read(i, [](std::span<const std::byte>) {});
  for (const char* name : {"out.pth", "out.safetensors"}) {
    for (const bool compact : {false, true}) {
      convert(path, dir.file(name), {.save = {.compact = compact, .durable = false}});
      Checkpoint::open(dir.file(name)).load();
    }
  }
}

std::string one_tensor(std::int64_t offset, const std::vector<std::int64_t>& sizes,
                       const std::vector<std::int64_t>& strides) {
  const hand::Archive archive{
      hand::dict(
          {{"a", hand::tensor(hand::storage("FloatStorage", "0", 2), offset, sizes, strides)},
           {"b", hand::tensor(hand::storage("FloatStorage", "0", 2), 1, {1}, {1})}}),
      {{"0", std::string(8, 'x')}}};
  return archive.bytes();
}

TEST(WrongGeometry, AnEmptyTensorMayBeginAnywhereThatIsAByte) {
  TensorRecord record;
  record.shape = Shape({0});
  record.stride = {1};
  for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{1000}, kMost / 4}) {
    record.offset = offset;
    EXPECT_EQ(wrong_geometry(record, 0), "") << offset;
  }
  for (const std::int64_t offset : {kMost / 4 + 1, kMost}) {
    record.offset = offset;
    EXPECT_NE(wrong_geometry(record, 0), "") << offset;
  }
}

TEST(WrongGeometry, OffsetsOfEmptyTensorsAreReadInEveryWay) {
  read_in_every_way(one_tensor(0, {0}, {1}));
  read_in_every_way(one_tensor(kMost / 4, {0, 3}, {1, 1}));
  for (const std::int64_t offset : {kMost / 4 + 1, kMost - 1, kMost}) {
    const std::string bytes = one_tensor(offset, {0}, {1});
    expect_error<FormatError>([&] { read_in_every_way(bytes); }, "offset", std::to_string(offset));
  }
}

TEST(WrongGeometry, ATensorWithoutElementsIsNoBytes) {
  const Layout layout{Shape({0, 2}), {2, 1}, kMost, float32, Device::meta()};
  EXPECT_EQ(bytes_of(layout).begin, bytes_of(layout).end);
}

// Of a storage of eight bytes the part from the fourth on, in a file of the older kind.
std::string part_of_a_storage(std::int64_t begin, std::int64_t offset,
                              const std::vector<std::int64_t>& sizes, const std::string& dtype) {
  const std::string id =
      hand::tuple({hand::text("storage"), hand::global("torch", "ByteStorage"), hand::text("0"),
                   hand::text("cpu"), hand::number(8),
                   hand::tuple({hand::text("1"), hand::number(begin), hand::number(8 - begin)})}) +
      "Q";
  const auto pickle = [](const std::string& program) { return "\x80\x02" + program + "."; };
  const std::string magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  return pickle(magic) + pickle(hand::number(1001)) + pickle("}") +
         pickle(hand::dict({{"a", hand::tensor(id, offset, sizes, {1}, dtype)}})) +
         pickle("](" + hand::text("0") + "e") + hand::little(8, 8) + "abcdefgh";
}

TEST(WrongGeometry, APartOfAStorageIsCountedInTheElementsOfTheStorage) {
  const TempDir dir;
  const auto elements = [&](const std::string& bytes) {
    const Tensor read = load(dir.write("a.pth", bytes)).find("a")->as_tensor().contiguous();
    return std::string(static_cast<const char*>(read.data_ptr()),
                       static_cast<std::size_t>(read.numel() * itemsize(read.dtype())));
  };
  EXPECT_EQ(elements(part_of_a_storage(4, 0, {4}, "uint8")), "efgh");
  EXPECT_EQ(elements(part_of_a_storage(4, 0, {1}, "int32")), "efgh");
  EXPECT_EQ(elements(part_of_a_storage(4, 1, {1}, "int16")), "gh");
  expect_error<FormatError>([&] { elements(part_of_a_storage(3, 0, {1}, "int32")); }, "inside");
  expect_error<FormatError>([&] { elements(part_of_a_storage(4, 1, {1}, "int32")); }, "outside");
  expect_error<FormatError>([&] { elements(part_of_a_storage(4, kMost / 4, {0}, "int32")); },
                            "overflows");
}

std::string sparse(std::int64_t down, std::int64_t across, std::uint64_t column = 0) {
  const auto indices = [&](std::int64_t offset, std::int64_t count) {
    return hand::tensor(hand::storage("LongStorage", "0", 3), offset, {count}, {1});
  };
  const std::string layout = hand::global("torch.serialization", "_get_layout") +
                             hand::tuple({hand::text("torch.sparse_csr")}) + "R";
  const std::string parts =
      hand::tuple({indices(0, 2), indices(2, 1),
                   hand::tensor(hand::storage("FloatStorage", "1", 1), 0, {1}, {1}),
                   hand::numbers({down, across})});
  const std::string call =
      hand::global("torch._utils", "_rebuild_sparse_tensor") + hand::tuple({layout, parts}) + "R";
  const hand::Archive archive{
      hand::dict({{"a", call}}),
      {{"0", hand::little(0, 8) + hand::little(1, 8) + hand::little(column, 8)},
       {"1", std::string(4, 'x')}}};
  return archive.bytes();
}

TEST(SparseGeometry, SizesUpToTheLargestNumberDoNotOverflow) {
  read_in_every_way(sparse(1, kMost));
  for (const std::int64_t down : {kMost, kMost - 1, std::int64_t{0}}) {
    expect_error<FormatError>([&] { read_in_every_way(sparse(down, 1)); },
                              "compressed indices of another length");
  }
}

TEST(SparseGeometry, IndicesOutsideOfTheirSizesAreNotCopiedIntoAnotherFile) {
  const TempDir dir;
  for (const FileFormat format : {FileFormat::pth, FileFormat::safetensors}) {
    ConvertOptions options;
    options.save = {.format = format, .durable = false};
    convert(dir.write("in.pth", sparse(1, 3, 2)), dir.file("out"), options);
    load(dir.file("out"));
    const std::string wrong = dir.write("wrong.pth", sparse(1, 3, 3));
    expect_error<FormatError>([&] { convert(wrong, dir.file("out2"), options); },
                              "index 3 at position 0 is outside of 0 to 2");
    EXPECT_FALSE(std::filesystem::exists(dir.file("out2")));
    // Without the sparse tensor there is nothing wrong.
    options.filter = [](std::string_view name) { return name == "b"; };
    convert(wrong, dir.file("out3"), options);
  }
}

TEST(SafetensorsGeometry, PairsOfFourBitsThatCannotBeCountedAreBytes) {
  const TempDir dir;
  const Tensor empty = Tensor(
      make_ref<Body>(Layout::packed(Shape({0, kMost / 2 + 1}), float4_e2m1fn_x2, Device::cpu()),
                     Storage::allocate(0)));
  const SaveReport report = save(Value::dict({{"a", empty}}), dir.file("a.safetensors"));
  const Value back = load(dir.file("a.safetensors"));
  EXPECT_EQ(back.find("a")->as_tensor().shape(), empty.shape());
  EXPECT_EQ(back.find("a")->as_tensor().dtype(), float4_e2m1fn_x2);
}

TEST(SafetensorsGeometry, AsManyDimensionsAsThereMayBeOfADTypeWithoutAName) {
  const TempDir dir;
  const Tensor many = ones(Shape(std::vector<std::int64_t>(64, 1)), {.dtype = complex128});
  save(Value::dict({{"a", many}}), dir.file("a.safetensors"));
  EXPECT_TRUE(equal(load(dir.file("a.safetensors")).find("a")->as_tensor(), many));
}

}  // namespace
}  // namespace tenon
