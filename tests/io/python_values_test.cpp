// What a pickle says is what Python's own unpickler makes of it, or is refused.
#include "support/matchers.h"
#include "support/program_archive.h"
#include "support/wrappers.h"
#include "tenon/checkpoint.h"
#include "tenon/save.h"

namespace tenon {
namespace {

using namespace std::string_literals;

Value read(const std::string& program) {
  return Checkpoint::open(program_archive("\x80\x04" + program + ".")).load();
}

TEST(PythonValues, MemoizeTakesAsManyAsThereAre) {
  // PUT 5, then MEMOIZE twice: Python takes the numbers 1 and 2, and 5 stays the first text.
  const std::string put5 = program::text("five") + "q\5", memoize = "\x94";
  EXPECT_EQ(read("(" + put5 + program::text("one") + memoize + program::text("two") + memoize +
                 "h\5h\1h\2t")
                .repr(),
            "('five', 'one', 'two', 'five', 'one', 'two')");
  // A number that is taken again counts once.
  EXPECT_EQ(read("(" + program::text("a") + "q\0"s + program::text("b") + "q\0"s +
                 program::text("c") + memoize + "h\0h\1t"s)
                .repr(),
            "('a', 'b', 'c', 'b', 'c')");
}

TEST(PythonValues, NewObjIsNewAlone) {
  const std::string ordered = program::global("collections", "OrderedDict");
  const std::string pairs = "](" + program::text("a") + "K\1\x86" + "e";
  EXPECT_EQ(read(ordered + ")\x81").repr(), "OrderedDict()");
  EXPECT_THROW(read(ordered + pairs + "\x85\x81"), FormatError);
  EXPECT_EQ(read(ordered + pairs + "\x85R").repr(), "OrderedDict({'a': 1})");
  EXPECT_THROW(read(program::global("builtins", "set") + pairs + "\x85\x81"), FormatError);
  EXPECT_THROW(read(program::global("_codecs", "encode") + program::text("a") +
                    program::text("latin1") + "\x86\x81"),
               FormatError);
}

TEST(PythonValues, ACounterOfPairsWouldCountThem) {
  const std::string counter = program::global("collections", "Counter");
  EXPECT_THROW(read(counter + "](" + program::text("a") + "K\1\x86" + "e\x85R"), FormatError);
  EXPECT_EQ(read(counter + "}" + program::text("a") + "K\2s\x85R").repr(), "{'a': 2}");
}

TEST(PythonValues, NumbersThatAreEqualAreOneKey) {
  const std::string one_real = "G\x3f\xf0\0\0\0\0\0\0"s, zero_real = "G\0\0\0\0\0\0\0\0"s;
  EXPECT_EQ(read("}(K\1N" + one_real + "\x88\x88K\7u").repr(), "{1: 7}");
  EXPECT_EQ(read("}(K\0\x88"s + zero_real + "K\1" + "\x89" + "K\2u").repr(), "{0: 2}");
  EXPECT_EQ(read("}(K\1\x85K\1" + one_real + "\x85K\2\x88\x85K\3u").repr(), "{(1,): 3}");
  // Sets too, and many of them, which are hashed.
  std::string many = "\x8f(";
  for (int i = 0; i < 50; ++i) many += "K" + std::string(1, static_cast<char>(i % 25));
  EXPECT_EQ(read(many + one_real + "\x88\x90").items().size(), 25u);
}

TEST(PythonValues, WhatCannotBeAKeyIsRefused) {
  EXPECT_THROW(read("}]Ns"), FormatError);
  EXPECT_THROW(read("}}Ns"), FormatError);
  EXPECT_THROW(read("}]\x85Ns"), FormatError);
  EXPECT_THROW(read("}G\x7f\xf8\0\0\0\0\0\0Ns"s), FormatError);
  // Equal to an integer of more than 64 bits, which is of another kind here.
  EXPECT_THROW(read("}G\x44\0\0\0\0\0\0\0Ns"s), FormatError);
  EXPECT_THROW(read("\x8f(]\x90"), FormatError);
}

TEST(PythonValues, PairsOfAnOrderedDictHaveKeysThatCanBeKeys) {
  const std::string ordered = program::global("collections", "OrderedDict");
  const std::string array = program::global("builtins", "bytearray") + "B\1\0\0\0x\x85R"s;
  const auto of_pair = [&](const std::string& pair) { return ordered + "](" + pair + "e\x85R"; };
  EXPECT_THROW(read(of_pair(array + "K\1\x86")), FormatError);
  EXPECT_THROW(read(of_pair("](" + array + "K\1e")), FormatError);
  EXPECT_THROW(read(of_pair(array + "\x85K\1\x86")), FormatError);
  EXPECT_THROW(read(ordered + array + "K\1\x86\x85\x85R"), FormatError);
  // Values can be anything.
  EXPECT_EQ(read(of_pair("K\1" + array + "\x86")).repr(), "OrderedDict({1: b'x'})");
}

// A layout and a scheme of quantisation are there once, whoever asks for them.
TEST(PythonValues, WhatIsThereOnceIsOneItemOfASet) {
  const auto layout = [](const std::string& name) {
    return program::global("torch.serialization", "_get_layout") + program::text(name) + "\x85R";
  };
  const std::string affine = program::global("torch", "per_tensor_affine");
  const std::string items = layout("torch.strided") + layout("torch.strided") +
                            layout("torch.sparse_coo") + affine + affine +
                            program::global("torch", "per_channel_affine");
  EXPECT_EQ(read("\x8f(" + items + "\x90").items().size(), 4u);
  // And so is a name that is read inert, but not what calling it has made.
  const std::string name = program::global("m", "A");
  const auto inert = Checkpoint::open(
      program_archive("\x80\x04\x8f(" + name + name + name + ")R" + name + ")R\x90."),
      {.inert = true});
  EXPECT_EQ(inert.load().items().size(), 3u);
}

// Whatever the order of their items is, and how they were made.
TEST(PythonValues, SetsOfSetsHaveEachOnce) {
  const std::string frozen = program::global("builtins", "frozenset");
  const auto of = [&](const std::string& items) { return frozen + "(" + items + "t\x85R"; };
  const std::string one = of("K\1K\2"), same = of("K\2\x88"), nested = of(one + "K\5"),
                    again = of("K\5" + same);
  EXPECT_EQ(read("\x8f(" + one + nested + same + again + "\x90").repr(), "{{1, 2}, {{1, 2}, 5}}");
  EXPECT_EQ(read("\x8f(" + of("K\1") + "K\1" + of("\x88") + of("") + of("") + "\x90").repr(),
            "{{1}, 1, set()}");
}

TEST(PythonValues, StatesAreNotMerged) {
  const std::string ordered = program::global("collections", "OrderedDict");
  EXPECT_NO_THROW(read(ordered + ")R}" + program::text("a") + "Nsb"));
  EXPECT_THROW(read(ordered + ")R}" + program::text("a") + "Nsb}" + program::text("b") + "Nsb"),
               FormatError);
}

// Python calls at once. What comes later is not in what the call has made.
TEST(PythonValues, WhatACallHasTakenStaysAsItIs) {
  const std::string ordered = program::global("collections", "OrderedDict");
  EXPECT_THROW(read(ordered + "]q\0"s + "\x85Rh\0K\1K\2\x86" + "a0"s), FormatError);
  EXPECT_THROW(read(program::global("builtins", "set") + "]q\0"s + "\x85Rh\0K\1a0"s), FormatError);
  // Also what is in it, and what a state was.
  EXPECT_THROW(read(ordered + "](K\1]q\0"s + "\x86" + "e\x85Rh\0K\1a0"s), FormatError);
  EXPECT_THROW(read(ordered + ")R}q\0bh\0K\1K\2s0"s), FormatError);
  // Others may grow whenever the program says.
  EXPECT_EQ(read("(]q\0h\0K\1at"s).repr(), "([1], [1])");
}

TEST(PythonValues, SetsInSetsAreFrozenOnes) {
  const Value inner = Value::set({1, 2});
  const Value both = Value::list({inner, Value::set({inner, 3})});
  const auto bytes = save_to_memory(both);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_THAT(text, testing::HasSubstr("__builtin__\nfrozenset\n"));
  EXPECT_THAT(text, testing::HasSubstr("__builtin__\nset\n"));
  EXPECT_EQ(Checkpoint::open(bytes).load().repr(), both.repr());
}

TEST(PythonValues, WhatIsNotReadIsNotWritten) {
  for (const Value& odd : {Value(std::nan("")), Value(1e300), Value::list({}), Value::dict({})}) {
    EXPECT_THROW(save_to_memory(Value::dict({{odd, 1}})), ValueError) << odd;
    EXPECT_THROW(save_to_memory(Value::set({odd})), ValueError) << odd;
    EXPECT_THROW(save_to_memory(Value::set({odd}), {.format = FileFormat::safetensors}),
                 ValueError);
  }
  EXPECT_THROW(save_to_memory(Value::big_integer(std::string(1025, '\x11'))), ValueError);
  EXPECT_NO_THROW(save_to_memory(Value::big_integer(std::string(1024, '\x11'))));
}

// They are read as dicts, which no set holds.
TEST(PythonValues, WhatIsReadAsADictIsNotWrittenIntoASet) {
  const Value counter =
      Value::object("collections.Counter", Value::tuple({Value::dict({{"a", 1}})}), {});
  const Value wrapper = make_tensor<ScaledTensor>(arange(3.0), 2.0);
  for (const Value& odd : {counter, wrapper}) {
    EXPECT_NO_THROW(save_to_memory(Value::list({odd})));
    for (const Value& item : {odd, Value::set({odd})}) {
      expect_error<ValueError>([&] { save_to_memory(Value::set({1, item})); }, "an item of a set");
    }
  }
  // Others are tensors there as well.
  const auto bytes = save_to_memory(Value::set({arange(3.0), uninitialized_parameter()}));
  EXPECT_EQ(Checkpoint::open(bytes).load().items().size(), 2u);
}

TEST(PythonValues, AStorageIsNoItemOfASet) {
  const std::string storage = "(" + program::text("storage") +
                              program::global("torch", "FloatStorage") + program::text("0") +
                              program::text("cpu") + "K\1tQ";
  const auto read_with = [](const std::string& program) {
    return Checkpoint::open(program_archive("\x80\x04" + program + ".", {std::string(4, '\0')}))
        .load();
  };
  EXPECT_NO_THROW(read_with("](" + storage + "e"));
  const std::string set = program::global("builtins", "set"),
                    frozen = program::global("builtins", "frozenset");
  for (const std::string& items :
       {"\x8f(" + storage + "\x90", "\x8f(" + storage + "\x85\x90",
        set + "](" + storage + "K\1e\x85R", frozen + storage + "\x85\x85R",
        "(" + storage + "K\1\x91", "}" + storage + "\x85Ns", "}" + storage + "Ns",
        set + "](" + storage + "\x85\x85" + "e\x85R"}) {
    EXPECT_THROW(read_with(items), FormatError);
  }
  expect_error<FormatError>([&] { read_with("\x8f(" + storage + "\x90"); },
                            "a storage as an item of a set");
}

TEST(PythonValues, ACallIsMadeOnceAndItsArgumentsAreShared) {
  // Two OrderedDicts of one dict: what is in it is one list.
  const Value both = read(program::global("collections", "OrderedDict") + "\x94" + "0}" +
                          program::text("a") + "]s\x85\x94" + "0(h\0h\1Rh\0h\1Rt"s);
  ASSERT_EQ(both.items().size(), 2u);
  EXPECT_NE(both.items()[0].identity(), both.items()[1].identity());
  EXPECT_EQ(both.items()[0].find("a")->identity(), both.items()[1].find("a")->identity());
}

}  // namespace
}  // namespace tenon
