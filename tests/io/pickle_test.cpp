#include "io/pickle/pickle.h"

#include "support/matchers.h"

namespace tenon {
namespace {

using namespace std::string_literals;

std::uint32_t meaning(std::string_view module, std::string_view name) {
  return module == "m" && name == "known" ? 1 : 0;
}

Pickle run(const std::string& program, Pickle::Names allowed = Pickle::Names::known) {
  static const std::string file = "program";
  ReadMeter meter(file, {});
  return Pickle(std::as_bytes(std::span(program)), 100, file, meaning, allowed, meter);
}

TEST(Pickle, GivesWhatTheProgramDescribes) {
  const std::string program =
      "\x80\x02}q\x00(X\x01\x00\x00\x00"
      "aK\x07X\x01\x00\x00\x00"
      "b]q\x01(K\x01\x88"
      "eu."s;
  const Pickle pickle = run(program);
  EXPECT_EQ(pickle.size(), program.size());
  const auto items = pickle.items(pickle.node(pickle.root()));
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(pickle.text(items[0]), "a");
  EXPECT_EQ(items[1].integer, 7);
  EXPECT_EQ(pickle.items(pickle.node(items[3])).size(), 2u);
}

TEST(Pickle, NothingIsCalledAndUnknownNamesAreRefusedWhereTheyStand) {
  const std::string program =
      "\x80\x02"
      "cm\nknown\n)R."s;
  const Pickle pickle = run(program);
  EXPECT_EQ(pickle.name_of(pickle.node(pickle.node(pickle.root()).a)), "m.known");
  expect_error<FormatError>(
      [] {
        run("\x80\x02"
            "cos\nsystem\n0N."s);
      },
      "program", "byte 102", "os.system", "state_dict");
  EXPECT_NO_THROW(
      run("\x80\x02"
          "cos\nsystem\n0N."s,
          Pickle::Names::any));  // inert: a name is only a name
}

TEST(Pickle, ProgramsThatAreNoneAreRefusedWithTheirPlace) {
  const std::pair<std::string, const char*> wrong[] = {
      {"", "cut short"},
      {"\x80\x02", "cut short"},
      {"\x80\x02N", "cut short"},
      {"\x80\x07N.", "protocol 7"},
      {"\x80\x02"
       "0N.",
       "without the values"},
      {"\x80\x02"
       "NN.",
       "more or less than one value"},
      {"\x80\x02(N.", "more or less than one value"},
      {"\x80\x02h\x05.", "never set"},
      {"\x80\x02Nr\xff\xff\xff\xff.", "memo number"},
      {"\x80\x02t.", "without its mark"},
      {"\x80\x02NNR.", "no function"},
      {"\x80\x02K\x01K\x02s.", "without the values"},
      {"\x80\x02NK\x01K\x02s.", "holds none"},
      {"\x80\x02"
       "X\xff\xff\xff\x7f"
       "a.",
       "cut short"},
      {"\x80\x02X\x02\x00\x00\x00\xc3\x28."s, "not UTF-8"},
      {"\x80\x02i.", "operation 105"},
  };
  for (const auto& [text, reason] : wrong) {
    expect_error<FormatError>([&, &program = text] { run(program); }, "program: byte 1", reason);
  }
}

TEST(Pickle, DepthIsBoundedWhileItIsMade) {
  std::string deep = "\x80\x02)";
  for (int i = 0; i < 1'000'000; ++i) deep += '\x85';
  expect_error<FormatError>([&] { run(deep + "."); }, "1000 levels");
}

TEST(Pickle, TheLastValueCanBeDoubledWhenTheStackIsFull) {
  for (const std::size_t n : {255u, 256u, 8192u}) {
    const std::string program = "\x80\x02("s + std::string(n - 1, 'N') + "\x88" + "2t."s;
    const Pickle pickle = run(program);
    const auto items = pickle.items(pickle.node(pickle.root()));
    ASSERT_EQ(items.size(), n + 1);
    EXPECT_EQ(items[n].kind, PickleItem::Kind::boolean);
    EXPECT_EQ(items[n].integer, 1);
  }
}

}  // namespace
}  // namespace tenon
