// Names that a file chose, in the messages of the errors it causes: nothing of them reaches a log
// raw.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/visible.h"
#include "io/pickle/pickle.h"
#include "support/matchers.h"
#include "support/program_archive.h"
#include "support/temp_dir.h"

namespace tenon {
namespace {

using namespace std::string_literals;

const std::string kNames[] = {"a\x1b[31mb", "a\u202eb", "a\U000E0041b", std::string(100'000, 'n')};

using program::global;
using program::text;

std::string storage(const std::string& key, const std::string& location, bool legacy = false,
                    char elements = 4) {
  return "(" + text("storage") + global("torch", "FloatStorage") + text(key) + text(location) +
         "K" + elements + (legacy ? "N" : "") + "tQ";
}
std::string tensor(const std::string& stored) {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + stored + "K\0(K\4t(K\1t\x89"s +
         global("collections", "OrderedDict") + ")RtR";
}

// An archive whose data.pkl is that program, and which has one storage of four floats.
std::vector<std::byte> archive(const std::string& program) {
  return program_archive("\x80\x02" + program + ".", {std::string(16, '\0')});
}

std::vector<std::byte> legacy(const std::string& program, const std::string& key) {
  const std::string file =
      "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}("s +
      text("protocol_version") + "M\xe9\x03" + text("little_endian") + "\x88" + text("type_sizes") +
      "}(" + text("short") + "K\2" + text("int") + "K\4" + text("long") + "K\4uu.\x80\x02" +
      program + ".\x80\x02](" + text(key) + "e." + "\4\0\0\0\0\0\0\0"s + std::string(16, '\0');
  const auto bytes = std::as_bytes(std::span(file));
  return {bytes.begin(), bytes.end()};
}

void load_bytes(const std::vector<std::byte>& bytes) { Checkpoint::open(bytes).load(); }

void expect_safe(const std::function<void()>& fail) {
  try {
    fail();
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_EQ(what, visible(what));
    EXPECT_LT(what.size(), 10'000u);
    return;
  }
  ADD_FAILURE() << "no exception";
}

TEST(Messages, OfNamesInPickles) {
  for (const std::string& name : kNames) {
    const std::string program = "\x80\x02" + global("os" + name, "system") + ".";
    static const std::string file = "program";
    expect_safe([&] {
      ReadMeter meter(file, {});
      Pickle(std::as_bytes(std::span(program)), 0, file, nullptr, Pickle::Names::known, meter);
    });
    expect_safe([&] { load_bytes(archive(global(name, "x"))); });
    expect_safe([&] {
      load_bytes(archive(global("torch._utils", "_rebuild_sparse_tensor") + "(" +
                         global("torch.serialization", "_get_layout") + "(" + text(name) +
                         "tR)tR"));
    });
  }
}

TEST(Messages, OfStoragesAndTheirPlaces) {
  for (const std::string& name : kNames) {
    expect_safe([&] { load_bytes(archive(tensor(storage(name, "cpu")))); });
    expect_safe([&] { load_bytes(archive(tensor(storage("0", name)))); });
    const std::string two_ways =
        "(" + tensor(storage(name, "cpu", true)) + tensor(storage(name, "cpu", true, 3)) + "t";
    expect_safe([&] { load_bytes(legacy(two_ways, name)); });
  }
  EXPECT_NO_THROW(load_bytes(archive(tensor(storage("0", "cpu")))));
  EXPECT_NO_THROW(load_bytes(legacy(tensor(storage("k", "cpu", true)), "k")));
}

TEST(Messages, OfDevices) {
  for (const std::string& name : kNames) {
    expect_safe([&] { static_cast<void>(Device(name)); });
    expect_safe([&] { static_cast<void>(Device("cpu:" + name)); });
  }
}

TEST(Messages, OfFiles) {
  const TempDir folder;
  for (const std::string& name : {kNames[0], kNames[1], kNames[2], "a\nb"s}) {
    expect_safe([&] { load(folder.file(name)); });
    folder.write(name, "no checkpoint");
    expect_safe([&] { load(folder.file(name)); });
    expect_safe([&] { save(Value(), folder.file(name), {.replace = false}); });
    expect_safe([&] { save(Value(), folder.file(name + "/x")); });
    const std::string index = folder.write("model.safetensors.index.json",
                                           "{\"weight_map\": {\"w\": \"b" + kNames[1] + "\"}}");
    expect_safe([&] { load(index); });
  }
}

// Types of objects in files, which nearly every message about a value has.
TEST(Messages, OfTypes) {
  for (const std::string& name : {kNames[0], kNames[1], kNames[2], "a\nb"s, "a\tb"s}) {
    const Value object = Value::object(name, Value::tuple({}), Value());
    const Value dict = Value::dict({{"a", object}});
    EXPECT_EQ(object.repr(), visible(object.repr()));
    expect_safe([&] { static_cast<void>(object.as_string()); });
    expect_safe([&] { static_cast<void>(object.entries()); });
    expect_safe([&] { const StateDict names(object); });
    const TempDir folder;
    expect_safe([&] { save(object, folder.file("x.pth")); });
    expect_safe([&] { save(Value::set({object}), folder.file("x.pth")); });
    expect_safe([&] { save(Value::dict({{object, 1}}), folder.file("x.pth")); });
    expect_safe([&] { save(dict, folder.file("x"), {.shard_size = 100}); });
  }
  const std::string longest(1'000'000, 'n');
  EXPECT_LT(Value::object(longest, Value::tuple({}), Value()).type_name().size(), 210u);
}

// Values that are not found: names of files, and of what is in them.
TEST(Messages, OfPaths) {
  const TempDir folder;
  for (const std::string& name : {kNames[0], kNames[1], kNames[2], "a\nb"s}) {
    const std::string file = folder.file(name);
    save(Value::dict({{name, 1}}), file);
    expect_safe([&] { load(file, {.path = "zz" + name}); });
  }
}

}  // namespace
}  // namespace tenon
