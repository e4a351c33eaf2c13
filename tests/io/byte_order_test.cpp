// Archives of the other byte order, read in every way there is.
#include <algorithm>
#include <cstring>

#include "io/hand_made.h"
#include "io/read/records.h"
#include "io/read/source.h"
#include "io/read/storage_reader.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/checkpoint.h"
#include "tenon/convert.h"

namespace tenon {
namespace {

namespace hand = hand_made;

// The elements as every way of reading gives them, which is one. Archives cannot hold one storage
// under several dtypes.
std::string elements_of(const std::string& path, const std::string& name, bool several = false) {
  const auto packed = [&](const Value& state) {
    const Tensor tensor = state.find(name)->as_tensor().contiguous();
    return std::string(static_cast<const char*>(tensor.data_ptr()),
                       static_cast<std::size_t>(tensor.numel() * itemsize(tensor.dtype())));
  };
  const Checkpoint file = Checkpoint::open(path);
  std::string streamed;  // what extract and inspect --hash have
  file.read(*file.find(name), [&](std::span<const std::byte> piece) {
    streamed.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  EXPECT_EQ(packed(load(path)), streamed) << name;
  EXPECT_EQ(packed(load(path, {.mmap = true})), streamed) << name;
  const auto only = [&](std::string_view one) { return one == name; };
  EXPECT_EQ(packed(load(path, {.filter = only})), streamed) << name;
  const TempDir dir;
  for (const char* to : {"out.pth", "out.safetensors"}) {
    for (const bool compact : {false, true}) {
      if (!several || to != std::string("out.pth")) {
        convert(path, dir.file(to), {.save = {.compact = compact, .durable = false}});
        EXPECT_EQ(packed(load(dir.file(to))), streamed) << name << " by way of " << to;
      }
      convert(path, dir.file(to), {.filter = only, .save = {.compact = compact, .durable = false}});
      EXPECT_EQ(packed(load(dir.file(to))), streamed) << name << " alone by way of " << to;
    }
  }
  return streamed;
}

std::string path_of(const TempDir& dir, const std::string& value, const std::string& bytes) {
  return dir.write("in.pth", hand::Archive{value, {{"0", bytes}}, "big"}.bytes());
}

TEST(ByteOrder, AStorageIsSwappedByItsOwnDTypeWhateverItsTensorsAre) {
  const TempDir dir;
  const std::string storage = hand::storage("DoubleStorage", "0", 2);
  const std::string path =
      path_of(dir,
              hand::dict({{"all", hand::tensor(storage, 0, {2}, {1})},
                          {"bytes", hand::tensor(storage, 3, {7}, {1}, "uint8")},
                          {"shorts", hand::tensor(storage, 1, {5}, {1}, "int16")},
                          {"apart", hand::tensor(storage, 1, {3}, {2}, "int16")},
                          {"wide", hand::tensor(storage, 0, {1}, {1}, "complex128")}}),
              "hgfedcbaponmlkji");
  EXPECT_EQ(elements_of(path, "all", true), "abcdefghijklmnop");
  EXPECT_EQ(elements_of(path, "bytes", true), "defghij");
  EXPECT_EQ(elements_of(path, "shorts", true), "cdefghijkl");
  EXPECT_EQ(elements_of(path, "apart", true), "cdghkl");
  EXPECT_EQ(elements_of(path, "wide", true), "abcdefghijklmnop");
}

TEST(ByteOrder, AStorageOfBytesIsNotSwappedForATensorThatNamesItsDType) {
  const TempDir dir;
  const std::string storage = hand::storage("ByteStorage", "0", 8);
  const std::string path =
      path_of(dir, hand::dict({{"a", hand::tensor(storage, 0, {2}, {1}, "int32")}}), "abcdefgh");
  EXPECT_EQ(elements_of(path, "a"), "abcdefgh");
}

TEST(ByteOrder, AnUntypedStorageIsSwappedAsItsTensorsSay) {
  const TempDir dir;
  const std::string storage = hand::storage("UntypedStorage", "0", 9);
  const std::string path =
      path_of(dir,
              hand::dict({{"first", hand::tensor(storage, 0, {1}, {1}, "uint16")},
                          {"rest", hand::tensor(storage, 1, {3}, {1}, "uint16")},
                          {"pairs", hand::tensor(storage, 1, {1}, {1}, "complex32")},
                          {"none", hand::tensor(storage, 0, {0}, {1}, "uint64")}}),
              "badcfehgi");
  EXPECT_EQ(elements_of(path, "first"), "ab");
  EXPECT_EQ(elements_of(path, "rest"), "cdefgh");
  EXPECT_EQ(elements_of(path, "pairs"), "efgh");
}

TEST(ByteOrder, TensorsThatDisagreeOverAnUntypedStorageAreRefused) {
  const TempDir dir;
  const auto words = hand::tensor(hand::storage("UntypedStorage", "0", 8), 0, {4}, {1}, "uint16");
  const auto longs = hand::tensor(hand::storage("UntypedStorage", "0", 8), 0, {2}, {1}, "uint32");
  const auto bytes = hand::tensor(hand::storage("ByteStorage", "0", 8), 0, {8}, {1});
  const std::pair<std::string, std::string> wrong[] = {
      {words, longs}, {longs, words}, {words, bytes}, {bytes, words}};
  for (const auto& [first, second] : wrong) {
    const std::string path = path_of(dir, hand::dict({{"a", first}, {"b", second}}), "abcdefgh");
    for (const bool mmap : {false, true}) {
      expect_error<FormatError>([&] { load(path, {.mmap = mmap}); }, "storage 0", "big-endian",
                                "sizes");
    }
    expect_error<FormatError>([&] { Checkpoint::open(path); }, "storage 0", "big-endian");
    expect_error<FormatError>([&] { convert(path, dir.file("out.pth")); }, "storage 0");
  }
  // In our own byte order there is nothing to disagree about.
  const hand::Archive little{hand::dict({{"a", words}, {"b", longs}}), {{"0", "abcdefgh"}}};
  EXPECT_NO_THROW(load(dir.write("in.pth", little.bytes())));
}

TEST(ByteOrder, APartIsThatOfTheWholeWhereverItBeginsAndEnds) {
  const std::string bytes = "hgfedcbaponmlkjiq";  // one behind the last element
  const auto source = open_memory(std::as_bytes(std::span(bytes)), "memory");
  StorageRecord record;
  record.source = source.get();
  record.dtype = float64;
  record.nbytes = record.stored = bytes.size();
  record.big_endian = true;
  const std::string whole = "abcdefghijklmnopq";
  for (std::size_t begin = 0; begin <= whole.size(); ++begin) {
    for (std::size_t end = begin; end <= whole.size(); ++end) {
      std::string part(end - begin, '?');
      read_part(record, begin, std::as_writable_bytes(std::span(part)));
      EXPECT_EQ(part, whole.substr(begin, end - begin)) << begin << " to " << end;
    }
  }
}

}  // namespace
}  // namespace tenon
