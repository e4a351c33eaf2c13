// What archives say of storages, and what of that is read and written.
#include <cstring>

#include "io/hand_made.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/checkpoint.h"
#include "tenon/convert.h"
#include "tenon/save.h"

namespace tenon {
namespace {

namespace hand = hand_made;

std::string elements(const Value& value) {
  const Tensor packed = value.as_tensor().contiguous();
  return {static_cast<const char*>(packed.data_ptr()),
          static_cast<std::size_t>(packed.numel() * itemsize(packed.dtype()))};
}

// torch.save({"a": a, "b": a.view(torch.uint8)}) of three numbers, or the other way round.
std::string words_and_bytes(bool words_first) {
  const std::string words =
      hand::tensor(hand::storage("UntypedStorage", "0", 6), 0, {3}, {1}, "uint16");
  const std::string bytes = hand::tensor(hand::storage("ByteStorage", "0", 6), 0, {6}, {1});
  const hand::Archive archive{words_first ? hand::dict({{"words", words}, {"bytes", bytes}})
                                          : hand::dict({{"bytes", bytes}, {"words", words}}),
                              {{"0", "abcdef"}}};
  return archive.bytes();
}

void expect_words_and_bytes(const std::string& path) {
  for (const bool mmap : {false, true}) {
    const Value state = load(path, {.mmap = mmap});
    const Tensor words = state.find("words")->as_tensor(), bytes = state.find("bytes")->as_tensor();
    EXPECT_EQ(words.dtype(), uint16);
    EXPECT_EQ(bytes.dtype(), uint8);
    EXPECT_EQ(elements(words), "abcdef");
    EXPECT_EQ(elements(bytes), "abcdef");
    EXPECT_TRUE(words.storage().is(bytes.storage()));
  }
}

TEST(Storages, BytesAndADTypeWithoutAClassOfStoragesMayShareOne) {
  const TempDir dir;
  for (const bool words_first : {true, false}) {
    const std::string path = dir.write("in.pth", words_and_bytes(words_first));
    expect_words_and_bytes(path);
    for (const char* name : {"out.pth", "out.safetensors"}) {
      convert(path, dir.file(name), {.save = {.durable = false}});
      expect_words_and_bytes(dir.file(name));
    }
  }
}

TEST(Storages, WhatSharesOneInMemoryIsReadAsItWasWritten) {
  const TempDir dir;
  const Tensor bytes = zeros({6}, {.dtype = uint8});
  std::memcpy(bytes.data_ptr(), "abcdef", 6);
  const Tensor words = bytes.view(uint16);
  for (const char* name : {"a.pth", "a.safetensors"}) {
    save(Value::dict({{"words", words}, {"bytes", bytes}}), dir.file(name));
    expect_words_and_bytes(dir.file(name));
    save(Value::dict({{"bytes", bytes}, {"words", words}}), dir.file(name));
    expect_words_and_bytes(dir.file(name));
  }
}

TEST(Storages, BytesBehindTheLastElementAreNobodys) {
  const TempDir dir;
  const Tensor bytes = zeros({7}, {.dtype = uint8});
  std::memcpy(bytes.data_ptr(), "abcdefg", 7);
  const Tensor number = bytes.narrow(0, 0, 4).view(float32);
  for (const char* name : {"a.pth", "a.safetensors"}) {
    for (const bool compact : {false, true}) {
      save(Value::dict({{"a", number}}), dir.file(name), {.compact = compact});
      EXPECT_EQ(elements(*load(dir.file(name)).find("a")), "abcd") << name;
    }
  }
}

TEST(Storages, OddBytesUnderALargerDTypeAreWrittenSoThatTheyAreRead) {
  const TempDir dir;
  for (const char* kind : {"UntypedStorage", "ByteStorage"}) {
    const hand::Archive archive{
        hand::dict({{"a", hand::tensor(hand::storage(kind, "0", 7), 0, {1}, {1}, "float32")}}),
        {{"0", "abcdefg"}}};
    const std::string path = dir.write("in.pth", archive.bytes());
    EXPECT_EQ(elements(*load(path).find("a")), "abcd");
    for (const char* name : {"out.pth", "out.safetensors"}) {
      convert(path, dir.file(name), {.save = {.durable = false}});
      EXPECT_EQ(elements(*load(dir.file(name)).find("a")), "abcd") << kind;
      convert(path, dir.file(name), {.dtype = float64, .save = {.durable = false}});
      EXPECT_EQ(load(dir.file(name)).find("a")->as_tensor().dtype(), float64) << kind;
    }
  }
}

TEST(Storages, DescriptionsThatDisagreeAreRefused) {
  const TempDir dir;
  const auto two = [&](const std::string& first, const std::string& second) {
    const hand::Archive archive{hand::dict({{"a", hand::tensor(first, 0, {1}, {1})},
                                            {"b", hand::tensor(second, 0, {1}, {1})}}),
                                {{"0", std::string(8, 'x')}}};
    load(dir.write("in.pth", archive.bytes()));
  };
  const std::string floats = hand::storage("FloatStorage", "0", 2);
  EXPECT_NO_THROW(two(floats, floats));
  expect_error<FormatError>([&] { two(floats, hand::storage("IntStorage", "0", 2)); }, "two ways",
                            "float32", "int32");
  // Less or more than there is, by an element.
  expect_error<FormatError>([&] { two(floats, hand::storage("FloatStorage", "0", 1)); }, "8");
  expect_error<FormatError>([&] { two(floats, hand::storage("FloatStorage", "0", 3)); }, "12");
}

// PyTorch finds what it has made by the key alone, wherever it is said to be then.
TEST(Storages, OneThatIsSaidToBeOnMetaIsTheOneOfItsEntry) {
  const auto storage = [](const std::string& where, std::int64_t numel) {
    return hand::tuple({hand::text("storage"), hand::global("torch", "FloatStorage"),
                        hand::text("0"), hand::text(where), hand::number(numel)}) +
           "Q";
  };
  const auto archive = [&](const std::string& a, const std::string& b, bool has_entry) {
    return hand::Archive{
        hand::dict({{"a", hand::tensor(a, 0, {1}, {1})}, {"b", hand::tensor(b, 0, {1}, {1})}}),
        has_entry ? std::vector<std::pair<std::string, std::string>>{{"0", "abcdefgh"}}
                  : std::vector<std::pair<std::string, std::string>>{}}
        .bytes();
  };
  const auto opened = [](const std::string& bytes) {
    return Checkpoint::open(std::as_bytes(std::span(bytes))).load();
  };
  const std::string cpu = storage("cpu", 2), meta = storage("meta", 2);
  for (const auto& bytes : {archive(cpu, meta, true), archive(meta, cpu, true)})
    expect_error<FormatError>([&] { opened(bytes); }, "storage 0", "on two devices");
  expect_error<FormatError>([&] { opened(archive(meta, storage("meta", 3), true)); }, "storage 0");
  for (const bool has_entry : {false, true}) {
    const Value both = opened(archive(meta, meta, has_entry));
    const Tensor a = both.find("a")->as_tensor(), b = both.find("b")->as_tensor();
    EXPECT_TRUE(a.is_meta());
    EXPECT_TRUE(b.is_meta());
  }
}

TEST(Storages, OneWithoutBytesIsOfAnyDType) {
  const TempDir dir;
  const std::string one =
      hand::dict({{"a", hand::tensor(hand::storage("FloatStorage", "0", 0), 0, {0}, {1})},
                  {"b", hand::tensor(hand::storage("IntStorage", "0", 0), 0, {0}, {1})}});
  const auto check = [](const Value& state) {
    EXPECT_EQ(state.find("a")->as_tensor().dtype(), float32);
    EXPECT_EQ(state.find("b")->as_tensor().dtype(), int32);
  };
  const std::string path = dir.write("in.pth", hand::Archive{one, {{"0", ""}}}.bytes());
  const Value state = load(path);
  check(state);
  save(state, dir.file("saved.pth"));
  check(load(dir.file("saved.pth")));
  for (const char* name : {"out.pth", "out.safetensors"}) {
    convert(path, dir.file(name), {.save = {.durable = false}});
    check(load(dir.file(name)));
  }
}

TEST(Storages, OneThatIsTooShortForAnElementHasBytesAllTheSame) {
  const Tensor bytes = ones({7}, {.dtype = uint8});
  const Tensor none = Tensor(
      make_ref<Body>(Layout::packed(Shape({0}), float64, Device::cpu()), Storage(bytes.storage())));
  expect_error<ValueError>([&] { save_to_memory(Value::list({none, bytes})); }, "float64", "uint8");
}

TEST(Storages, AMappedOneIsWhereItsElementsMayLie) {
  const TempDir dir;
  const hand::Archive archive{
      hand::dict({{"a", hand::tensor(hand::storage("ByteStorage", "0", 9), 0, {9}, {1})},
                  {"b", hand::tensor(hand::storage("ByteStorage", "0", 9), 0, {1}, {1}, "int64")}}),
      {{"1", "x"}, {"0", "abcdefghi"}},
      "little",
      1};
  std::string bytes = archive.bytes();
  const std::string path = dir.write("in.pth", bytes);
  const Checkpoint file = Checkpoint::open(path);
  ASSERT_NE(file.storages()[0].offset % 8, 0u);
  for (const bool mmap : {false, true}) {
    const Value state = file.load({.mmap = mmap});
    EXPECT_EQ(elements(*state.find("b")), "abcdefgh");
    const auto at = reinterpret_cast<std::uintptr_t>(state.find("b")->as_tensor().data_ptr());
    EXPECT_EQ(at % 8, 0u);
  }
}

TEST(Storages, LargerElementsInTheBytesOfSmallerOnesAreWrittenWhereTheyMayLie) {
  const TempDir dir;
  const Tensor bytes = zeros({16}, {.dtype = uint8});
  save(Value::dict(
           {{"odd", zeros({3}, {.dtype = uint8})}, {"bytes", bytes}, {"longs", bytes.view(int64)}}),
       dir.file("a.safetensors"));
  const Checkpoint file = Checkpoint::open(dir.file("a.safetensors"));
  for (const StorageFacts& storage : file.storages()) EXPECT_TRUE(storage.mappable) << storage.key;
  const Value state = load(dir.file("a.safetensors"), {.mmap = true});
  const Tensor longs = state.find("longs")->as_tensor();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(longs.data_ptr()) % 8, 0u);
  EXPECT_TRUE(longs.storage().is(state.find("bytes")->as_tensor().storage()));
}

TEST(Storages, MoreDimensionsThanAreReadAreNotWritten) {
  const TempDir dir;
  const Tensor many = ones(Shape(std::vector<std::int64_t>(65, 1)));
  for (const char* name : {"a.pth", "a.safetensors"}) {
    expect_error<ValueError>([&] { save(Value::dict({{"a", many}}), dir.file(name)); },
                             "65 dimensions", "64");
  }
}

}  // namespace
}  // namespace tenon
