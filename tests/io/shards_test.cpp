// State dicts in several files, and the index that holds them together.
#include "io/write/shards.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>

#include "io/files.h"
#include "io/same_values.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/save.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string only_line(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  return at == text.npos ? "" : text.substr(at, text.find('\n', at) - at);
}

struct ShardKind {
  FileFormat format;
  const char *stem, *ending;
  std::string index() const { return std::string(stem) + ending + ".index.json"; }
  std::string shard(int i, int n, const std::string& tag = "") const {
    char numbers[40];
    std::snprintf(numbers, sizeof numbers, "-%05d-of-%05d", i, n);
    return stem + tag + numbers + ending;
  }
};

class Shards : public testing::TestWithParam<ShardKind> {};

INSTANTIATE_TEST_SUITE_P(
    Save, Shards,
    testing::Values(ShardKind{FileFormat::safetensors, "model", ".safetensors"},
                    ShardKind{FileFormat::pth, "pytorch_model", ".bin"}),
    [](const auto& one) { return one.param.format == FileFormat::pth ? "pth" : "safetensors"; });

TEST_P(Shards, AreOfTheSizeThatWasAskedForAndHaveAnIndex) {
  const TempDir folder;
  const std::string path = folder.file("sharded");
  StateDict state;
  for (int i = 0; i < 10; ++i) state.set("layer." + std::to_string(i), full({100}, i));
  state.set("huge", arange(1000));
  state.set("last", arange(10));
  state.set_metadata(Value::ordered_dict({{"", Value::dict({{"version", 1}})}}));
  const SaveReport report = save(state, path, {.format = GetParam().format, .shard_size = 4000});
  // 800 bytes each: five, five, the huge one, the last.
  std::set<std::string> expected{GetParam().index()};
  for (int i = 1; i <= 4; ++i) expected.insert(GetParam().shard(i, 4));
  EXPECT_EQ(names_in(path), expected);
  EXPECT_EQ(report.files.size(), 5u);
  EXPECT_EQ(report.files.back(), path + "/" + GetParam().index());
  std::uint64_t bytes = 0;
  for (const std::string& file : report.files) bytes += fs::file_size(file);
  EXPECT_EQ(report.bytes, bytes);
  const std::string index = TempDir::read(path + "/" + GetParam().index());
  EXPECT_EQ(only_line(index, "\"total_size\""),
            "\"total_size\": " + std::to_string(10 * 800 + 8080));
  EXPECT_THAT(index, HasSubstr("\"layer.4\": \"" + GetParam().shard(1, 4)));
  EXPECT_THAT(index, HasSubstr("\"huge\": \""));
  expect_same(state, load(path));
  expect_same(state, load(path + "/" + GetParam().index(), {.mmap = true}));
}

TEST_P(Shards, TensorsThatShareMemoryAreInOneFile) {
  const TempDir folder;
  const std::string path = folder.file("sharded");
  const Tensor tied = arange(100.0), other = arange(200.0);
  const Value state = Value::ordered_dict({{"embed", tied},
                                           {"a", arange(50.0)},
                                           {"b", other},
                                           {"head", tied},
                                           {"part", other.slice(0, 10, 20)}});
  save(state, path, {.format = GetParam().format, .shard_size = 300});
  const Value back = load(path);
  ASSERT_EQ(back.entries().size(), 5u);
  for (const auto& [name, tensor] : state.entries())
    EXPECT_TRUE(equal(tensor.as_tensor(), back.find(name)->as_tensor())) << name;
  const auto storage = [&](const char* name) {
    return back.find(name)->as_tensor().storage().identity();
  };
  EXPECT_EQ(storage("embed"), storage("head"));
  EXPECT_EQ(storage("b"), storage("part"));
  EXPECT_NE(storage("a"), storage("b"));
  EXPECT_TRUE(back.find("embed")->as_tensor().is(back.find("head")->as_tensor()));
}

TEST_P(Shards, ReplaceThoseThatWereThere) {
  const TempDir folder;
  const std::string path = folder.file("sharded");
  const auto state = [](int fill, int n) {
    std::vector<Value::Entry> entries;
    for (int i = 0; i < n; ++i) entries.emplace_back("t" + std::to_string(i), full({100}, fill));
    return Value::dict(std::move(entries));
  };
  const SaveOptions options{.format = GetParam().format, .shard_size = 800};
  save(state(1, 3), path, options);
  folder.write("sharded/notes.txt", "not ours");
  const Value mapped = load(path, {.mmap = true});
  save(state(2, 3), path, options);
  expect_same(state(2, 3), load(path));
  EXPECT_THAT(names_in(path), testing::UnorderedElementsAre(
                                  "notes.txt", GetParam().index(), GetParam().shard(1, 3, "-v2"),
                                  GetParam().shard(2, 3, "-v2"), GetParam().shard(3, 3, "-v2")));
  EXPECT_EQ(mapped.find("t0")->as_tensor()[0].item<double>(), 1);
  save(state(3, 2), path, options);
  expect_same(state(3, 2), load(path));
  EXPECT_EQ(names_in(path).size(), 4u);
  save(state(4, 3), path + "/", options);
  expect_same(state(4, 3), load(path));
  EXPECT_EQ(names_in(path).size(), 5u);
}

TEST_P(Shards, AnOldIndexCannotMakeAnythingElseGo) {
  const TempDir folder;
  const std::string path = folder.file("sharded");
  fs::create_directory(path);
  const std::string index = GetParam().index(), own = GetParam().shard(7, 9);
  for (const std::string name : {"README.md", "config.json", own.c_str()})
    folder.write("sharded/" + name, "theirs");
  folder.write("sharded/" + index, R"({"weight_map": {"a": "README.md", "b": ")" + index +
                                       R"(", "c": "config.json", "d": "../x", "e": ")" + own +
                                       R"("}})");
  folder.write("x", "outside");
  const Value state = Value::dict({{"a", full({100}, 1)}});
  save(state, path, {.format = GetParam().format, .shard_size = 800});
  EXPECT_THAT(names_in(path), testing::UnorderedElementsAre("README.md", "config.json", index,
                                                            GetParam().shard(1, 1)));
  EXPECT_TRUE(fs::exists(folder.file("x")));
  expect_same(state, load(path));
}

TEST_P(Shards, AFolderThatSomebodyElseWritesIntoIsAnError) {
  const TempDir folder;
  const std::string path = folder.file("sharded");
  fs::create_directory(path);
  const Value state = Value::dict({{"a", full({100}, 1)}, {"b", full({100}, 2)}});
  SaveOptions options{.format = GetParam().format, .shard_size = 800};
  bool tried = false;
  options.watch.progress = [&](std::uint64_t done, std::uint64_t) {
    if (done == 0 || std::exchange(tried, true)) return;
    expect_error<IoError>(
        [&] { save(state, path, {.format = GetParam().format, .shard_size = 800}); },
        "somebody else is writing shards into it");
  };
  save(state, path, options);
  EXPECT_TRUE(tried);
  expect_same(state, load(path));
}

TEST_P(Shards, WithoutReplacingAnIndexThatIsThereOrAppearsStays) {
  const TempDir folder;
  const std::string path = folder.file("sharded");
  const std::string index = path + "/" + GetParam().index();
  SaveOptions options{.format = GetParam().format, .shard_size = 800, .replace = false};
  const Value state = Value::dict({{"a", full({100}, 1)}, {"b", full({100}, 2)}});
  save(state, path, options);
  const auto before = names_in(path);
  expect_error<IoError>([&] { save(state, path, options); }, index, "is there already");
  EXPECT_EQ(names_in(path), before);
  expect_same(state, load(path));
  // Somebody makes an index, or a shard, while ours are written.
  for (const std::string& name : {GetParam().index(), GetParam().shard(2, 2)}) {
    fs::remove_all(path);
    options.watch.progress = [&](std::uint64_t done, std::uint64_t total) {
      if (done == total) folder.write("sharded/" + name, "theirs");
    };
    expect_error<IoError>([&] { save(state, path, options); }, name, "is there already");
    EXPECT_EQ(TempDir::read(path + "/" + name), "theirs");
    EXPECT_THAT(names_in(path), ElementsAre(name));
  }
}

TEST_P(Shards, AFailureLeavesTheFolderAsItWas) {
  const TempDir folder;
  const std::string path = folder.file("sharded");
  const SaveOptions options{.format = GetParam().format, .shard_size = 800};
  const Value state = Value::dict({{"a", full({100}, 1)}, {"b", full({100}, 2)}});
  SaveOptions stopped = options;
  int calls = 0;
  std::stop_source stop;
  stopped.watch.stop = stop.get_token();
  stopped.watch.progress = [&](std::uint64_t, std::uint64_t) {
    if (++calls == 3) stop.request_stop();
  };
  EXPECT_THROW(save(state, path, stopped), CancelledError);
  EXPECT_THAT(names_in(folder.file("")), IsEmpty());
  save(state, path, options);
  const auto before = names_in(path);
  EXPECT_THROW(save(state, path, stopped), CancelledError);
  EXPECT_EQ(names_in(path), before);
  expect_same(state, load(path));
  expect_error<ValueError>([&] { save(Value::dict({{"a", 1}}), path, options); },
                           "only a dict of tensors");
  expect_error<ValueError>([&] { save(Value::list({arange(3)}), path, options); },
                           "only a dict of tensors");
  expect_error<ValueError>([&] { save(Value::dict({}), path, options); }, "there are none");
  folder.write("file", "text");
  expect_error<IoError>([&] { save(state, folder.file("file"), options); }, "Not a directory");
  expect_error<IoError>([&] { save(state, folder.file("none/folder"), options); },
                        "cannot make the folder", "No such file");
  EXPECT_EQ(names_in(path), before);
  EXPECT_THAT(names_in(folder.file("")), ElementsAre("file", "sharded"));
}

TEST_P(Shards, WhatKilledProcessesLeftIsRemoved) {
  const TempDir folder;
  fs::create_directory(folder.file("sharded"));
  const std::string left = "sharded/." + GetParam().shard(7, 9, "-v3") + ".tenon-tmp0";
  folder.write(left, "half of");
  folder.write("sharded/.other.tenon-tmp0", "of somebody else");
  save(Value::dict({{"a", arange(3)}}), folder.file("sharded"),
       {.format = GetParam().format, .shard_size = 800});
  EXPECT_THAT(names_in(folder.file("sharded")),
              testing::UnorderedElementsAre(".other.tenon-tmp0", GetParam().index(),
                                            GetParam().shard(1, 1)));
}

TEST_P(Shards, MoreThanThereMayBeOpenFiles) {
  const TempDir folder;
  std::vector<Value::Entry> entries;
  for (int i = 0; i < 600; ++i) entries.emplace_back("t" + std::to_string(i), full({2}, i));
  const Value state = Value::dict(std::move(entries));
  const SaveOptions options{.format = GetParam().format, .shard_size = 1, .durable = false};
  save(state, folder.file("sharded"), options);
  EXPECT_EQ(names_in(folder.file("sharded")).size(), 601u);
  expect_same(state, load(folder.file("sharded")));
  // Stopped when some have their names already.
  SaveOptions stopped = options;
  stopped.watch.progress = [](std::uint64_t done, std::uint64_t) {
    if (done > 500 * 16) throw ValueError("enough");
  };
  const auto before = names_in(folder.file("sharded"));
  expect_error<ValueError>([&] { save(state, folder.file("sharded"), stopped); }, "enough");
  EXPECT_EQ(names_in(folder.file("sharded")), before);
  expect_same(state, load(folder.file("sharded")));
}

// While shards are written, their folder loses its name, which leads to `elsewhere` then.
void move_away(const TempDir& folder, const std::string& leads_to) {
  fs::rename(folder.file("sharded"), folder.file("moved"));
  fs::create_directory_symlink(folder.file(leads_to), folder.file("sharded"));
}

TEST_P(Shards, AFolderThatBecomesALinkLeadsThemNowhere) {
  const Value state = Value::dict({{"a", full({100}, 1)}, {"b", full({100}, 2)}});
  for (const bool is_new : {false, true}) {
    for (const bool replace : {false, true}) {
      for (const std::uint64_t when : {1u, 801u, 1600u}) {
        const TempDir folder;
        const std::string path = folder.file("sharded");
        fs::create_directory(folder.file("elsewhere"));
        // What has the names of ours there stays.
        folder.write("elsewhere/" + GetParam().shard(1, 2), "theirs");
        if (!is_new) fs::create_directory(path);
        if (!is_new) folder.write("sharded/notes.txt", "not ours");
        SaveOptions options{
            .format = GetParam().format, .shard_size = 800, .durable = false, .replace = replace};
        bool moved = false;
        options.watch.progress = [&](std::uint64_t done, std::uint64_t) {
          if (done >= when && !std::exchange(moved, true)) move_away(folder, "elsewhere");
        };
        expect_error<IoError>([&] { save(state, path, options); }, path,
                              "is another folder than the shards were written into");
        EXPECT_THAT(names_in(folder.file("elsewhere")), ElementsAre(GetParam().shard(1, 2)));
        EXPECT_EQ(TempDir::read(folder.file("elsewhere/" + GetParam().shard(1, 2))), "theirs");
        EXPECT_EQ(names_in(folder.file("moved")),
                  is_new ? std::set<std::string>() : std::set<std::string>{"notes.txt"});
      }
    }
  }
}

TEST_P(Shards, AnotherFolderInTheirPlaceStaysAsItIs) {
  const Value state = Value::dict({{"a", full({100}, 1)}, {"b", full({100}, 2)}});
  const TempDir folder;
  const std::string path = folder.file("sharded");
  SaveOptions options{.format = GetParam().format, .shard_size = 800};
  bool moved = false;
  options.watch.progress = [&](std::uint64_t done, std::uint64_t) {
    if (done == 0 || std::exchange(moved, true)) return;
    fs::rename(path, folder.file("moved"));
    fs::create_directory(path);
  };
  try {
    save(state, path, options);
    ADD_FAILURE() << "no exception";
  } catch (const IoError& error) {
    EXPECT_EQ(error.error_number(), ESTALE);
  }
  EXPECT_THAT(names_in(path), IsEmpty());
  EXPECT_THAT(names_in(folder.file("moved")), IsEmpty());
}

TEST_P(Shards, AFolderThatIsMovedAndLinkedToIsTheSame) {
  const Value state = Value::dict({{"a", full({100}, 1)}, {"b", full({100}, 2)}});
  const TempDir folder;
  const std::string path = folder.file("sharded");
  fs::create_directory(path);
  SaveOptions options{.format = GetParam().format, .shard_size = 800};
  options.watch.progress = [&](std::uint64_t done, std::uint64_t) {
    if (done != 0 && !fs::exists(folder.file("moved"))) move_away(folder, "moved");
  };
  save(state, path, options);
  expect_same(state, load(path));
  EXPECT_EQ(names_in(folder.file("moved")).size(), 3u);
}

TEST_P(Shards, WithoutReplacingALinkIsNotFollowed) {
  const TempDir folder;
  const std::string path = folder.file("link");
  fs::create_directory(folder.file("real"));
  fs::create_directory_symlink("real", path);
  const Value state = Value::dict({{"a", full({100}, 1)}, {"b", full({100}, 2)}});
  SaveOptions options{.format = GetParam().format, .shard_size = 800, .replace = false};
  for (const std::string& name : {path, path + "/", path + "//"})
    expect_error<IoError>([&] { save(state, name, options); }, path, "is a symbolic link");
  EXPECT_THAT(names_in(folder.file("real")), IsEmpty());
  fs::create_directory_symlink("nowhere", folder.file("dangling"));
  expect_error<IoError>([&] { save(state, folder.file("dangling"), options); },
                        "is a symbolic link");
  options.replace = true;
  save(state, path + "/", options);
  EXPECT_TRUE(fs::is_symlink(path));
  expect_same(state, load(folder.file("real")));
}

// Else the folder would go on being what it was.
TEST(ShardsBesideAFile, AreNotWrittenWhereReadersTakeTheFile) {
  const Value old = Value::dict({{"a", full({100}, 1)}, {"b", full({100}, 2)}});
  const Value fresh = Value::dict({{"a", full({100}, 3)}, {"b", full({100}, 4)}});
  struct {
    const char* first;
    FileFormat format;
    bool refused;
  } const cases[] = {{"model.safetensors", FileFormat::safetensors, true},
                     {"pytorch_model.bin", FileFormat::safetensors, false},
                     {"model.safetensors", FileFormat::pth, true},
                     {"model.safetensors.index.json", FileFormat::pth, true},
                     {"pytorch_model.bin", FileFormat::pth, true},
                     {"pytorch_model.bin.index.json", FileFormat::safetensors, false}};
  for (const auto& [first, format, refused] : cases) {
    const TempDir folder;
    const std::string name = first;
    if (name.ends_with(".json")) {
      const bool pth = name.starts_with("pytorch");
      save(old, folder.file(""),
           {.format = pth ? FileFormat::pth : FileFormat::safetensors, .shard_size = 800});
    } else {
      save(old, folder.file(name),
           {.format = name.ends_with(".bin") ? FileFormat::pth : FileFormat::safetensors});
    }
    const auto before = names_in(folder.file(""));
    for (const bool replace : {false, true}) {
      const SaveOptions options{.format = format, .shard_size = 800, .replace = replace};
      if (!refused) {
        if (!replace) continue;
        save(fresh, folder.file(""), options);
        expect_same(fresh, load(folder.file("")));
        continue;
      }
      expect_error<IoError>([&] { save(fresh, folder.file(""), options); }, name,
                            "readers of the folder take this file and not the shards");
      EXPECT_EQ(names_in(folder.file("")), before);
      expect_same(old, load(folder.file("")));
    }
  }
}

TEST(TextThatIsNoIndex, IsNotCalledOne) {
  const TempDir folder;
  const auto said = [&](const std::string& text) {
    const std::string path = folder.write("settings.txt", text);
    return message_of<FormatError>([&] { load(path); });
  };
  const std::string words = "a text, and neither a checkpoint nor the index of one: ";
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"[section]\nkey = 1\n", "it begins with a bracket"},
           {R"(["a", "b"])", "it begins with a bracket"},
           {"{% if this %} template {% endif %}", "it is no JSON"},
           {R"({"hidden_size": 768})", "it has no weight_map"},
           {R"({"weight_map": ["a"]})", "it is no JSON of the kind"}}) {
    EXPECT_THAT(said(text), testing::HasSubstr(words + why)) << text;
  }
  EXPECT_THAT(said(R"({"weight_map": {}})"), testing::HasSubstr("an index without tensors"));
}

}  // namespace
}  // namespace tenon
