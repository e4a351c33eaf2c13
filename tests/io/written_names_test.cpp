// Names from elsewhere never become operations of what we write: Note [Names in what we write].
#include "io/pickle/pickle_writer.h"
#include "support/matchers.h"
#include "support/program_archive.h"
#include "tenon/checkpoint.h"
#include "tenon/save.h"

namespace tenon {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;
using testing::Not;

// What would run a command, were it written as it is.
const std::string kEvil = "per_tensor_affine\ncos\nsystem\n(S'id'\ntR";

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string safetensors_with(const std::string& values) {
  std::string quoted;
  for (const char c : values) quoted += c == '"' || c == '\\' ? "\\"s + c : ""s + c;
  std::string header = R"({"__metadata__":{"tenon.values":")" + quoted +
                       R"("},"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + "\7";
}

TEST(WrittenNames, OnlyNamesOfTheTableAreWritten) {
  ReadMeter meter = ReadMeter::of_saving();
  PickleWriter out(meter);
  out.global("torch", "per_tensor_affine");
  out.global("torch._utils", "_rebuild_tensor_v2");
  out.global("torch", "FloatStorage");
  const std::string before(out.bytes());
  EXPECT_THROW(out.global("os", "system"), TypeError);
  EXPECT_THROW(out.global("torch", kEvil), TypeError);
  EXPECT_THROW(out.global("torch", "per_x"), TypeError);
  EXPECT_THROW(out.global("torch\nos\nsystem", ""), TypeError);
  EXPECT_THROW(out.global("torch.storage", ""), TypeError);
  EXPECT_EQ(out.bytes(), before);
}

TEST(WrittenNames, ObjectsAreNeverWrittenAsCalls) {
  const Value none = Value::tuple({});
  const Value state = Value::dict(
      {{"data", zeros({2}).view(uint8).narrow(0, 0, 2)}, {"qscheme", "torch." + kEvil}});
  for (const std::string& name :
       {"torch." + kEvil, "torch.per_x"s, "os.system"s, "torch.nn.Linear"s, "sparse_tensor"s,
        "quantized_tensor"s, "nested_tensor"s, "layout"s, "collections.Counter"s}) {
    for (const Value& own : {Value(), state}) {
      const Value object = Value::object(name, none, own);
      EXPECT_THROW(save_to_memory(object), TypeError) << name;
      EXPECT_THROW(save_to_memory(Value::list({object})), TypeError) << name;
    }
  }
}

TEST(WrittenNames, AnErrorShowsNamesWithoutTheirControlCharacters) {
  try {
    save_to_memory(Value::object("os.\x1b[31m\n", Value::tuple({}), {}));
    FAIL();
  } catch (const TypeError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("\x1b")));
    EXPECT_THAT(error.what(), HasSubstr("\\x1b"));
  }
}

TEST(WrittenNames, NotesOfSafetensorsThatNameOtherThingsSayNothing) {
  const std::string json = R"(torch.per_tensor_affine\ncos\nsystem\n(S'id'\ntR)";
  for (const std::string& tree :
       {R"({"object": [")" + json + R"(", {"tuple": []}, null, null]})",
        R"({"object": ["torch.per_x", {"tuple": []}, null, null]})"s,
        R"({"object": ["os.system", {"tuple": ["id"]}, null, null]})"s,
        R"({"object": ["quantized_tensor", {"tuple": []}, {"dict": [["data", {"tensor": "x"}], )"
        R"(["qscheme", ")" +
            json + R"("], ["scale", 1.0], ["zero_point", 0], ["size", {"size": [1]}]]}, null]})"}) {
    const std::string file =
        safetensors_with(R"({"tree": {"list": [{"tensor": "x"}, )" + tree + "]}}");
    const Checkpoint opened = Checkpoint::open(std::as_bytes(std::span(file)));
    const Value value = opened.load();
    ASSERT_EQ(value.kind(), Value::Kind::dict);
    EXPECT_TRUE(value.find("x") != nullptr);
    EXPECT_THAT(text_of(save_to_memory(value)), Not(HasSubstr("cos\nsystem")));
  }
}

TEST(WrittenNames, WhatWasReadInertIsNotWritten) {
  // A name with newlines comes whole through STACK_GLOBAL.
  const std::string named = program::text("torch") + program::text(kEvil) + "\x93";
  for (const std::string& program :
       {named, named + ")R", named + ")\x81", named + ")R}b",
        program::global("os", "system") + ")R",
        program::text("torch.nn") + program::text("Linear") + "\x93)R"}) {
    const auto bytes = program_archive("\x80\x04" + program + ".");
    EXPECT_THROW(Checkpoint::open(bytes), FormatError);
    const Value inert = Checkpoint::open(bytes, {.inert = true}).load();
    ASSERT_EQ(inert.kind(), Value::Kind::object);
    EXPECT_THROW(save_to_memory(inert), TypeError);
    EXPECT_THROW(save_to_memory(inert, {.format = FileFormat::safetensors}), Error);
  }
}

}  // namespace
}  // namespace tenon
