// Writing checkpoints: the bytes torch.save writes, values that come back, and what is refused.
#include "tenon/save.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <set>
#include <thread>

#include "io/files.h"
#include "io/pickle/pickle_limits.h"
#include "io/same_values.h"
#include "io/write/archive_plan.h"
#include "support/archive_id.h"
#include "support/matchers.h"
#include "support/temp_dir.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Value read_back(std::string_view text) {
  return Checkpoint::open(std::as_bytes(std::span(text))).load();
}

// A value with every kind in it.
Value everything() {
  const Tensor shared = arange(12.0).view({3, 4});
  const Value list = Value::list({1, "text", shared});
  const Tensor wanted = ones({2}).requires_grad_();
  return Value::dict(
      {{"none", Value()},
       {"bools", Value::list({true, false})},
       {"integers", Value::list({0, 255, 256, 65535, 65536, -1, std::int64_t{1} << 40,
                                 std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max()})},
       {"big", Value::list({Value::big_integer(std::string(9, '\x7f')),
                            Value::big_integer("\1" + std::string(40, '\x80')),
                            Value::big_integer(std::string(300, '\x11'))})},
       {"reals", Value::list({0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, HUGE_VAL, -HUGE_VAL})},
       {"complex", std::complex<double>(1.5, -0.0)},
       {"texts", Value::list({"", "\u00e4\u4e2d\U0001f600", "line\nquote\"back\\slash\x01"})},
       {"bytes", Value::list({Value::bytes(""), Value::bytes(std::string("\0\x7f\x80\xff", 4))})},
       {"lists", Value::list({Value::list({}), list, list})},
       {"tuples", Value::tuple({Value::tuple({}), Value::tuple({1}), Value::tuple({1, 2, 3}),
                                Value::tuple({1, 2, 3, 4})})},
       {"set", Value::set({1, "one"})},
       {"dict", Value::dict({{1, "int"}, {2.5, "real"}, {Value::tuple({1, "a"}), "tuple"}})},
       {"ordered", Value::ordered_dict({{"z", 1}, {"a", 2}})},
       {"empty", Value::list({Value::dict({}), Value::ordered_dict({}), Value::set({})})},
       {"dtype", Value::list({float32, bfloat16, complex128})},
       {"device", Value::list({Device("cpu"), Device("cuda:1"), Device("meta")})},
       {"size", Shape{2, 3}},
       {"tensor", shared},
       {"row", shared[1]},
       {"scalar", scalar_tensor(7, {.dtype = int64})},
       {"nothing", zeros({0, 3})},
       {"wanted", wanted}});
}

// As torch.save, which remembers none; one in many places would make a large file of a small tree.
TEST(Save, LongIntegersAreRememberedFromTheSecondPlaceOn) {
  const std::string bytes(300, '\x11');
  const Value integer = Value::big_integer(bytes);
  const auto text_of = [](const Value& tree) {
    const auto file = save_to_memory(tree);
    return std::string(reinterpret_cast<const char*>(file.data()), file.size());
  };
  const std::string once = text_of(Value::list({integer}));
  EXPECT_EQ(once.at(once.find(bytes) + bytes.size()), 'a');  // APPEND
  const std::string often = text_of(Value::list(std::vector<Value>(1000, integer)));
  const std::size_t first = often.find(bytes), second = often.find(bytes, first + bytes.size());
  EXPECT_EQ(often.at(first + bytes.size()), '\x8b');  // LONG4
  EXPECT_EQ(often.at(second + bytes.size()), 'q');    // BINPUT
  EXPECT_EQ(second, often.rfind(bytes));
  EXPECT_EQ(read_back(often).items()[999], integer);
}

class SavedFixture : public testing::TestWithParam<const char*> {};

TEST_P(SavedFixture, IsWrittenByteForByteAsByPyTorch) {
  const TempDir folder;
  const std::string original = fixture(std::string("torch-2.14.1/") + GetParam());
  for (const bool mmap : {false, true}) {
    const std::string path = folder.file(GetParam());
    const SaveReport report = save(load(original, {.mmap = mmap}), path);
    EXPECT_TRUE(without_id(TempDir::read(path)) == without_id(TempDir::read(original)));
    EXPECT_EQ(report.bytes, fs::file_size(path));
    EXPECT_THAT(report.files, ElementsAre(path));
    EXPECT_THAT(report.notes, IsEmpty());
    EXPECT_NO_THROW(Checkpoint::open(path).verify());
    expect_same(load(original), load(path));
  }
}

INSTANTIATE_TEST_SUITE_P(Save, SavedFixture,
                         testing::Values("a.b.c.pt", "bigdict.pt", "dtypes.pt", "edge.pt",
                                         "linear_sd.pth", "many.pt", "mathbits.pt", "meta.pt",
                                         "opt_adam.pt", "opt_adamw.pt", "opt_sgd.pt",
                                         "opt_sgd_plain.pt", "params.pt", "seq_sd.pt", "sparse.pt",
                                         "tensor_attr.pt", "views.pt"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(Save, AStateDictMadeHereIsWrittenAsPyTorchWritesIt) {
  const TempDir folder;
  const std::string original = fixture("torch-2.14.1/linear_sd.pth");
  const StateDict read = load(original);
  StateDict state;
  state.set("weight", read.tensor("weight").clone());
  state.set("bias", read.tensor("bias").clone());
  state.set_metadata(Value::ordered_dict({{"", Value::dict({{"version", 1}})}}));
  const std::string path = folder.file("linear_sd.pth");
  save(state, path);
  EXPECT_TRUE(without_id(TempDir::read(path)) == without_id(TempDir::read(original)));
  // The notes of several modules, each made of texts of its own.
  const std::string larger = fixture("torch-2.14.1/seq_sd.pt");
  const StateDict sequence = load(larger);
  StateDict again;
  for (const auto& [name, value] : sequence) again.set(name, value.as_tensor().clone());
  std::vector<Value::Entry> modules;
  for (const auto& [name, notes] : sequence.metadata().entries()) {
    std::vector<Value::Entry> entries;
    for (const auto& [key, item] : notes.entries()) entries.emplace_back(key.as_string(), item);
    modules.emplace_back(name.as_string(), Value::dict(std::move(entries)));
  }
  again.set_metadata(Value::ordered_dict(std::move(modules)));
  save(again, folder.file("seq_sd.pt"));
  EXPECT_TRUE(without_id(TempDir::read(folder.file("seq_sd.pt"))) ==
              without_id(TempDir::read(larger)));
}

TEST(Save, TwiceGivesTheSameBytes) {
  const TempDir folder;
  const Value value = everything();
  for (const std::string ending : {".pth", ".safetensors"}) {
    fs::create_directories(folder.file("other"));
    save(value, folder.file("one" + ending));
    save(value, folder.file("other/one" + ending));
    EXPECT_TRUE(TempDir::read(folder.file("one" + ending)) ==
                TempDir::read(folder.file("other/one" + ending)));
  }
}

TEST(Save, EveryKindOfValueComesBack) {
  const TempDir folder;
  const Value value = everything();
  save(value, folder.file("all.pth"));
  expect_same(value, load(folder.file("all.pth")));
  expect_same(value, load(folder.file("all.pth"), {.mmap = true}));
  save(value, folder.file("all.safetensors"));
  expect_same(value, load(folder.file("all.safetensors")), {.shared_lists = false});
  expect_same(value, load(folder.file("all.safetensors"), {.mmap = true}), {.shared_lists = false});
  const Value nan = load(folder.file("all.pth"));
  save(Value::list({std::nan("")}), folder.file("nan.pth"));
  EXPECT_TRUE(std::isnan(load(folder.file("nan.pth")).items()[0].as_real()));
}

TEST(Save, WhatIsAtTheTopNeedNotBeADict) {
  for (const FileFormat format : {FileFormat::pth, FileFormat::safetensors}) {
    for (const Value& value :
         {Value(), Value(5), Value("text"), Value(arange(3)), Value(scalar_tensor(1.5)),
          Value(zeros({0})), Value::list({}), Value::dict({}), Value::ordered_dict({}),
          Value::tuple({arange(2), Value::list({arange(3)})})}) {
      const auto bytes = save_to_memory(value, {.format = format});
      expect_same(value, read_back(text_of(bytes)), {.shared_lists = false});
    }
  }
}

TEST(Save, ThreeThousandTensors) {
  const TempDir folder;
  std::vector<Value::Entry> entries;
  for (int i = 0; i < 3000; ++i)
    entries.emplace_back("layer." + std::to_string(i), full({i % 7, 3}, i, {.dtype = float32}));
  const Value value = Value::ordered_dict(std::move(entries));
  for (const std::string name : {"many.pth", "many.safetensors"}) {
    save(value, folder.file(name));
    expect_same(value, load(folder.file(name)));
    EXPECT_NO_THROW(Checkpoint::open(folder.file(name)).verify());
  }
}

TEST(Save, LargeTensorsAreDividedAmongThreads) {
  const TempDir folder;
  const Tensor large = arange(3'000'001, {.dtype = float32}), small = arange(3.0);
  const Value value = Value::dict({{"a", small},
                                   {"b", large},
                                   {"c", large.slice(0, 5, {}, 3)},
                                   {"d", arange(100'000)},
                                   {"e", arange(7.0)}});
  save(value, folder.file("large.pth"));
  expect_same(value, load(folder.file("large.pth")));
  EXPECT_NO_THROW(Checkpoint::open(folder.file("large.pth")).verify());
  save(value, folder.file("large.safetensors"));
  expect_same(value, load(folder.file("large.safetensors")));
}

// ---- where it goes

TEST(Save, MoreValuesOrStoragesThanAreReadAreRefused) {
  const Value text = Value::dict({{"note", std::string(std::size_t{256} << 20, 'x')}});
  expect_error<ValueError>([&] { save_to_memory(text); }, "more than would be read again",
                           "268435456");
  Pickled many;
  many.storages.resize(1'000'000);
  ReadMeter cost = ReadMeter::of_saving();
  expect_error<ValueError>([&] { plan_archive("archive", std::move(many), cost); },
                           "1000000 storages", ".shard_size");
}

// Written by the million, and then not read: io/pickle/pickle_limits.h.
TEST(Save, MoreObjectsThanAreReadAreRefused) {
  const Value tuple = Value::tuple({});
  expect_error<ValueError>(
      [&] { save_to_memory(Value::list(std::vector<Value>(kMostNodes, tuple))); },
      "save: ", "8388608 objects", "tensors");
  expect_error<ValueError>(
      [&] { save_to_memory(Value::tuple(std::vector<Value>(kMostWaiting + 1, Value(1)))); },
      "save: ", "8388608 values of a tuple");
  const auto bytes = save_to_memory(Value::tuple(std::vector<Value>(100'000, tuple)));
  EXPECT_EQ(Checkpoint::open(bytes).load().items().size(), 100'000u);
}

TEST(Save, IntoMemoryIsTheFileWithAnotherNameInside) {
  const TempDir folder;
  const Value value = everything();
  save(value, folder.file("archive.pth"));
  EXPECT_TRUE(text_of(save_to_memory(value)) == TempDir::read(folder.file("archive.pth")));
  save(value, folder.file("a.safetensors"));
  EXPECT_TRUE(text_of(save_to_memory(value, {.format = FileFormat::safetensors})) ==
              TempDir::read(folder.file("a.safetensors")));
  expect_error<ValueError>([&] { save_to_memory(value, {.shard_size = 100}); }, "folder",
                           ".shard_size");
}

TEST(Save, IntoAnOpenFileFromItsPositionOn) {
  const TempDir folder;
  const Value value = everything();
  const std::string expected = text_of(save_to_memory(value));
  const std::string path = folder.write("x", "HEADERlater");
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(::lseek(descriptor, 6, SEEK_SET), 6);
  const SaveReport report = save(value, descriptor);
  EXPECT_EQ(report.bytes, expected.size());
  EXPECT_THAT(report.files, IsEmpty());
  EXPECT_EQ(::lseek(descriptor, 0, SEEK_CUR), static_cast<off_t>(6 + expected.size()));
  EXPECT_TRUE(TempDir::read(path) == "HEADER" + expected);
  expect_same(value, Checkpoint::open(descriptor, 6).load());
  // Another one behind it.
  save(value, descriptor, {.format = FileFormat::safetensors});
  const std::string both = TempDir::read(path);
  ::close(descriptor);
  EXPECT_TRUE(both.starts_with("HEADER" + expected));
  expect_same(value, read_back(std::string_view(both).substr(6 + expected.size())),
              {.shared_lists = false});
}

TEST(Save, IntoAFileThatIsAppendedTo) {
  const TempDir folder;
  const Value value = Value::dict({{"a", arange(500'000.0)}, {"b", arange(3)}});
  const std::string path = folder.write("x", "HEADER");
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  save(value, descriptor);
  EXPECT_EQ(::lseek(descriptor, 0, SEEK_CUR), static_cast<off_t>(fs::file_size(path)));
  ::close(descriptor);
  EXPECT_TRUE(TempDir::read(path) == "HEADER" + text_of(save_to_memory(value)));
}

TEST(Save, IntoAPipe) {
  const Value value = Value::dict({{"a", arange(500'000.0)}, {"b", arange(3)}});
  for (const FileFormat format : {FileFormat::pth, FileFormat::safetensors}) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    std::string read;
    {
      const std::jthread reader([&] {
        std::array<char, 5000> piece{};
        for (ssize_t n; (n = ::read(ends[0], piece.data(), piece.size())) > 0;)
          read.append(piece.data(), static_cast<std::size_t>(n));
      });
      save(value, ends[1], {.format = format});
      ::close(ends[1]);
    }
    ::close(ends[0]);
    EXPECT_TRUE(read == text_of(save_to_memory(value, {.format = format})));
    expect_same(value, read_back(read));
  }
}

TEST(Save, IntoADescriptorThatTakesNothingIsAnError) {
  const Value value = Value::dict({{"a", arange(3.0)}});
  expect_error<IoError>([&] { save(value, -1); }, "descriptor -1");
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full >= 0) {
    expect_error<IoError>([&] { save(value, full); }, "No space left");
    ::close(full);
  }
  const int read_only = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  expect_error<IoError>([&] { save(value, read_only); }, "Bad file descriptor");
  ::close(read_only);
}

TEST(Save, OverTheFileThatTheTensorsAreMappedFrom) {
  for (const std::string name : {"model.pth", "model.safetensors"}) {
    const TempDir folder;
    const std::string path = folder.file(name);
    save(Value::dict({{"a", arange(10'000.0)}, {"b", arange(5)}}), path);
    const StateDict mapped = load(path, {.mmap = true});
    const Tensor before = mapped.tensor("a").clone();
    StateDict changed = mapped;
    changed.set("b", ones({3}));
    changed.set("c", mapped.tensor("a").slice(0, 100, 200));
    save(changed, path);
    EXPECT_TRUE(equal(mapped.tensor("a"), before));
    EXPECT_TRUE(equal(mapped.tensor("b"), arange(5)));
    const StateDict now = load(path);
    EXPECT_TRUE(equal(now.tensor("a"), before));
    EXPECT_TRUE(equal(now.tensor("b"), ones({3})));
    EXPECT_TRUE(equal(now.tensor("c"), before.slice(0, 100, 200)));
    EXPECT_THAT(names_in(folder.file("")), ElementsAre(name));
  }
}

TEST(Save, NotDurableOrDry) {
  const TempDir folder;
  const Value value = everything();
  save(value, folder.file("a.pth"), {.durable = false});
  EXPECT_TRUE(TempDir::read(folder.file("a.pth")).size() > 1000);
  const SaveReport report = save(value, folder.file("b.pth"), {.dry_run = true});
  EXPECT_EQ(report.bytes, fs::file_size(folder.file("a.pth")));
  const SaveReport shards =
      save(Value::dict({{"a", arange(3)}}), folder.file("c"), {.shard_size = 10, .dry_run = true});
  EXPECT_EQ(shards.files.size(), 2u);
  EXPECT_THAT(names_in(folder.file("")), ElementsAre("a.pth"));
  EXPECT_THROW(save(Value::object("a.B", {}, {}), folder.file("d.pth"), {.dry_run = true}),
               TypeError);
}

TEST(Save, TheNameOfTheFileIsTheNameInsideTheArchive) {
  const TempDir folder;
  const auto inside = [&](const std::string& name) {
    save(Value::dict({}), folder.file(name), {.format = FileFormat::pth});
    const std::string bytes = TempDir::read(folder.file(name));
    return bytes.substr(30, bytes.find("/data.pkl") - 30);
  };
  EXPECT_EQ(inside("model.pth"), "model");
  EXPECT_EQ(inside("a.b.c"), "a.b");
  EXPECT_EQ(inside("plain"), "plain");
  EXPECT_EQ(inside("m\u00f6del.pth"), "archive");
  expect_error<ValueError>([&] { inside(".pth"); }, "invalid file name");
  // Whoever unpacks it makes that folder, so it must not lead anywhere.
  for (const char* odd : {"...pth", "..pth", "....pth", "a\nb.pth",
                          "a\x7f"
                          "b.pth",
                          "a:b.pth", "\x1b[1m.pth"}) {
    EXPECT_EQ(inside(odd), "archive") << odd;
    EXPECT_NO_THROW(load(folder.file(odd))) << odd;
  }
  for (const char* plain : {"a b.pth", "..a.pth", "-x.pth", "a\\b.pth"})
    EXPECT_NO_THROW(inside(plain));
}

// ---- compact

TEST(Save, CompactLeavesOutWhatNoTensorUses) {
  const Tensor base = arange(100'000.0);
  const auto size = [](const Value& value, bool compact, FileFormat format = FileFormat::pth) {
    const auto bytes = save_to_memory(value, {.format = format, .compact = compact});
    expect_same(value, read_back(text_of(bytes)), {.strides = !compact});
    return bytes.size();
  };
  const Value view = Value::dict({{"v", base.slice(0, 500, 510)}});
  EXPECT_GT(size(view, false), 400'000u);
  EXPECT_LT(size(view, true), 3'000u);
  const Value gaps = Value::dict({{"g", base.slice(0, {}, {}, 1000)}});
  EXPECT_LT(size(gaps, true), 4'000u);
  const Value column = Value::dict({{"c", base.view({100, 1000}).select(1, 7)}});
  EXPECT_LT(size(column, true), 4'000u);
  // Of a shared storage what is between the first and the last that is used.
  const Value shared = Value::dict({{"a", base.slice(0, 1000, 1100)},
                                    {"b", base.slice(0, 1050, 1200)},
                                    {"e", base.slice(0, 1300, 1300)}});
  EXPECT_LT(size(shared, true), 4'000u);
  const auto parts = read_back(text_of(save_to_memory(shared, {.compact = true})));
  EXPECT_EQ(parts.find("a")->as_tensor().storage().nbytes(), 800u);
  // A transposed one has no gaps, and stays as it is.
  const Tensor turned = base.slice(0, 0, 1000).view({10, 100}).t();
  const auto kept = read_back(text_of(save_to_memory(turned, {.compact = true})));
  EXPECT_EQ(kept.as_tensor().stride(), turned.stride());
  EXPECT_TRUE(equal(kept.as_tensor(), turned));
  // One that is expanded would grow.
  EXPECT_LT(save_to_memory(ones({1}).expand({50'000}), {.compact = true}).size(), 3'000u);
  expect_same(ones({1}).expand({5}),
              read_back(text_of(save_to_memory(ones({1}).expand({5}), {.compact = true}))));
  EXPECT_LT(size(view, true, FileFormat::safetensors), 1'000u);
  // Nothing changes where all is used, flags and attributes stay, and empty ones are no trouble.
  const Tensor wanted = arange(10.0).slice(0, 2, 4).detach().requires_grad_();
  wanted.set_attribute("note", "kept");
  const Value others =
      Value::dict({{"w", wanted}, {"e", base.slice(0, 50, 50)}, {"s", scalar_tensor(1)}});
  const Value back = read_back(text_of(save_to_memory(others, {.compact = true})));
  expect_same(others, back);
  EXPECT_EQ(back.find("e")->as_tensor().storage().nbytes(), 0u);
}

TEST(Save, CompactTensorsWithoutElementsKeepNoBytes) {
  const Tensor base = arange(100'000.0);
  const Value state =
      Value::dict({{"few", base.slice(0, 0, 100'000, 1000)}, {"none", base.slice(0, 5, 5)}});
  EXPECT_LT(save_to_memory(state, {.compact = true}).size(), 5000u);
}

// ---- errors

TEST(Save, WhatCannotBeWrittenLeavesTheOldFile) {
  const TempDir folder;
  const std::string path = folder.write("x.pth", "old");
  expect_error<TypeError>([&] { save(Value::object("a.module.Net", {}, {}), path); },
                          "a.module.Net", "leave it out");
  const Tensor bytes = arange(4, {.dtype = int32});
  const Value two_types = Value::dict({{"a", bytes}, {"b", bytes.view(float32)}});
  expect_error<ValueError>([&] { save(two_types, path); }, "int32", "float32", "clone()");
  Value deep;
  for (int i = 0; i < 1005; ++i) deep = Value::list({deep});
  for (const FileFormat format : {FileFormat::pth, FileFormat::safetensors}) {
    for (const bool compact : {false, true}) {
      expect_error<ValueError>([&] { save(deep, path, {.format = format, .compact = compact}); },
                               "levels");
    }
  }
  expect_error<IoError>([&] { save(Value(), folder.file("none/x.pth")); }, "the folder",
                        "does not exist");
  EXPECT_THROW(save(Value(), folder.file("")), Error);
  EXPECT_EQ(TempDir::read(path), "old");
  EXPECT_THAT(names_in(folder.file("")), ElementsAre("x.pth"));
}

TEST(Save, NestedAsDeepAsItMayBe) {
  for (const FileFormat format : {FileFormat::pth, FileFormat::safetensors}) {
    Value lists = 1, dicts = 1;
    for (int i = 0; i < 990; ++i) {
      lists = Value::list({lists});
      dicts = Value::dict({{"k", dicts}});
    }
    for (const Value& deep : {lists, dicts}) {
      const Value back = read_back(text_of(save_to_memory(deep, {.format = format})));
      EXPECT_TRUE(back == deep);
    }
  }
}

TEST(Save, WhatIsSharedVeryOftenIsNotWrittenOutForever) {
  Value twice = Value::list({1});
  for (int i = 0; i < 60; ++i) twice = Value::list({twice, twice});
  EXPECT_LT(save_to_memory(twice).size(), 10'000u);
  EXPECT_THROW(save_to_memory(twice, {.format = FileFormat::safetensors}), Error);
  const Value notes = Value::ordered_dict({{"a", arange(3)}}, Value::dict({{"notes", twice}}));
  EXPECT_THROW(save_to_memory(notes, {.format = FileFormat::safetensors}), Error);
}

TEST(Save, StopsOnRequestAndLeavesTheOldFile) {
  const TempDir folder;
  const Value value = Value::dict({{"a", arange(2'000'000.0)}, {"b", arange(2'000'000.0)}});
  for (const std::string name : {"x.pth", "x.safetensors"}) {
    const std::string path = folder.write(name, "old");
    std::stop_source before;
    before.request_stop();
    SaveOptions options;
    options.watch.stop = before.get_token();
    EXPECT_THROW(save(value, path, options), CancelledError);
    // In the middle; and at the very end.
    for (const bool last : {false, true}) {
      std::stop_source stop;
      options.watch.stop = stop.get_token();
      options.watch.progress = [&](std::uint64_t done, std::uint64_t total) {
        if (!last || done == total) stop.request_stop();
      };
      EXPECT_THROW(save(value, path, options), CancelledError) << last;
    }
    options.watch = {};
    options.watch.progress = [](std::uint64_t, std::uint64_t) { throw ValueError("enough"); };
    expect_error<ValueError>([&] { save(value, path, options); }, "enough");
    EXPECT_EQ(TempDir::read(path), "old");
  }
  EXPECT_THAT(names_in(folder.file("")), ElementsAre("x.pth", "x.safetensors"));
}

TEST(Save, TellsHowFarItIsAndReachesTheEndOnce) {
  const TempDir folder;
  const Value value =
      Value::dict({{"a", arange(2'000'000.0)}, {"b", arange(1000.0)}, {"c", arange(500'000.0)}});
  const std::uint64_t bytes = 4 * (2'000'000 + 1000 + 500'000);
  for (const std::uint64_t shard_size : {0u, 1'000'000u}) {
    for (const FileFormat format : {FileFormat::pth, FileFormat::safetensors}) {
      std::uint64_t last = 0;
      int ends = 0;
      SaveOptions options{.format = format, .shard_size = shard_size};
      options.watch.progress = [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_EQ(total, bytes);
        EXPECT_GE(done, last);
        EXPECT_LE(done, total);
        last = done;
        ends += done == total ? 1 : 0;
      };
      save(value, folder.file(shard_size == 0 ? "file" : "folder"), options);
      EXPECT_EQ(last, bytes);
      EXPECT_EQ(ends, 1);
    }
  }
}

TEST(Save, TextThatIsNoUtf8IsRefused) {
  for (const FileFormat format : {FileFormat::pth, FileFormat::safetensors}) {
    for (const Value& value : {Value("\xff"), Value::dict({{"a\xc3", 1}})}) {
      EXPECT_THROW(save_to_memory(value, {.format = format}), ValueError);
    }
  }
}

}  // namespace
}  // namespace tenon
