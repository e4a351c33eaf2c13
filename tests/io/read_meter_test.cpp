// What a file may cost is linear in its bytes: steps and bytes of memory are counted at two sizes of
// everything that a file can use again and again. Note [What a file may cost].
#include "io/read_meter.h"

#include <functional>

#include "io/document.h"
#include "io/survey.h"
#include "io/walk.h"
#include "support/matchers.h"
#include "support/program_archive.h"
#include "tenon/checkpoint.h"

namespace tenon {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

struct Cost {
  bool refused = false;
  std::uint64_t stored = 0, steps = 0, peak = 0;
};

// Of opening, building and naming all tensors.
Cost cost_of(const std::vector<std::byte>& bytes, bool inert, const ReadLimits& limits = {}) {
  Cost cost;
  cost.stored = bytes.size();
  try {
    const auto document = open_document(open_memory(bytes, "memory"), {inert, false, limits});
    const Survey survey(*document);
    ReadMeter meter = survey.meter();
    Walk walk(meter, [](const std::string&, const Tensor&) {});
    walk.run(survey.tree());
    cost.steps = meter.steps();
    cost.peak = meter.peak();
  } catch (const FormatError& error) {
    cost.refused = true;
    EXPECT_THAT(error.what(), HasSubstr("do not warrant"));
  }
  return cost;
}

const std::string kStorage = program::global("torch._utils", "_rebuild_tensor_v2") +
                             program::put(1) + "0(" + program::text("storage") +
                             program::global("torch", "FloatStorage") + program::text("0") +
                             program::text("cpu") + "K\1tQ" + program::put(2) + "0";
// A tensor over the storage of one element, with the sizes and strides in the memo under 3 and 4.
const std::string kTensor = program::get(1) + "(" + program::get(2) + "K\0"s + program::get(3) +
                            program::get(4) + "\x89" +
                            program::global("collections", "OrderedDict") + ")RtR";

std::string repeated(std::size_t n, const std::string& what) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += what;
  return out;
}
// A list of what is written n times.
std::string list(std::size_t n, const std::string& what) { return "](" + repeated(n, what) + "e"; }
std::string list_of_sizes(std::size_t n) { return "(" + repeated(n, "K\1") + "t"; }

// A structure of about n uses of something that is there once, and grows with n too.
struct Structure {
  const char* name;
  std::function<std::string(std::size_t n)> program;
  bool inert = false;
  bool endless = false;  // it doubles with every level
};

std::ostream& operator<<(std::ostream& out, const Structure& structure) {
  return out << structure.name;
}

std::string called_again(const std::string& function, std::size_t levels,
                         const std::string& first) {
  std::string program = first + program::put(10) + "0";
  for (std::size_t i = 0; i < levels; ++i) {
    const auto before = static_cast<std::uint32_t>(10 + i);
    // Arguments that two calls share.
    program += program::get(before) + program::get(before) + "\x86\x85" + program::put(9) + "0" +
               function + program::get(9) + "R0" + function + program::get(9) + "R" +
               program::put(before + 1) + "0";
  }
  return program + program::get(static_cast<std::uint32_t>(10 + levels));
}

const Structure kStructures[] = {
    {"a text in many places",
     [](std::size_t n) {
       return program::text(std::string(n, 'x')) + program::put(0) + "0" + list(n, program::get(0));
     }},
    {"a long key of many dicts",
     [](std::size_t n) {
       return program::text(std::string(n, 'k')) + program::put(0) + "0" +
              list(n, "}" + program::get(0) + "Ns");
     }},
    {"a list in many places",
     [](std::size_t n) { return list(n, "N") + program::put(0) + "0" + list(n, program::get(0)); }},
    {"a dict that many others are made of",
     [](std::size_t n) {
       std::string program = "}(";
       for (std::size_t i = 0; i < n; ++i)
         program += program::integer(static_cast<std::int64_t>(i)) + "N";
       return program + "u" + program::put(0) + "0" +
              program::global("collections", "OrderedDict") + program::put(1) + "0" +
              list(n, program::get(1) + program::get(0) + "\x85R");
     }},
    {"a list that many sets are made of",
     [](std::size_t n) {
       std::string program = "](";
       for (std::size_t i = 0; i < n; ++i)
         program += program::integer(static_cast<std::int64_t>(i));
       return program + "e" + program::put(0) + "0" + program::global("builtins", "set") +
              program::put(1) + "0" + list(n, program::get(1) + program::get(0) + "\x85R");
     }},
    {"arguments shared by calls, level by level",
     [](std::size_t n) {
       return called_again(program::global("builtins", "frozenset"),
                           std::min<std::size_t>(n / 8, 150), "K\1\x85");
     }},
    {"a state that many parameters share",
     [](std::size_t n) {
       std::string state = "}(";
       for (std::size_t i = 0; i < n; ++i) state += program::text("a" + std::to_string(i)) + "N";
       return "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage + state + "u" +
              program::put(5) + "0" + kTensor + program::put(6) + "0" +
              program::global("torch._utils", "_rebuild_parameter_with_state") + program::put(7) +
              "0" +
              list(n, program::get(7) + "(" + program::get(6) + "\x89N" + program::get(5) + "tR");
     }},
    {"metadata that many tensors share",
     [](std::size_t n) {
       return "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage + "}(" +
              repeated(n, program::text("neg") + "\x89") + "u" + program::put(5) + "0" +
              list(n, program::get(1) + "(" + program::get(2) + "K\0"s + program::get(3) +
                          program::get(4) + "\x89N" + program::get(5) + "tR");
     }},
    {"sizes of 64 dimensions that many tensors share",
     [](std::size_t n) {
       return list_of_sizes(64) + program::put(3) + program::put(4) + "0" + kStorage + "(" +
              program::get(2) + "K\0"s + program::get(3) + program::get(4) + "\x89Nt" +
              program::put(5) + "0" + list(4 * n, program::get(1) + program::get(5) + "R");
     }},
    {"numbers of the memo that double",
     [](std::size_t n) {
       std::string program = "N";
       for (std::uint64_t at = 1; at < std::min<std::uint64_t>(n * n, 16 << 20); at = at * 2 + 1)
         program += program::put(static_cast<std::uint32_t>(at));
       return program;
     }},
    {"lists in lists, each twice",
     [](std::size_t n) {
       std::string program = "]" + program::put(0);
       for (std::uint32_t i = 0; i < std::min<std::size_t>(n, 900); ++i)
         program += "0](" + program::get(i) + program::get(i) + "e" + program::put(i + 1);
       return program;
     },
     false, true},
    {"tuples in the key of a dict, each twice",
     [](std::size_t n) {
       std::string program = "K\1\x85" + program::put(0);
       for (std::uint32_t i = 0; i < std::min<std::size_t>(n, 500); ++i)
         program += "0" + program::get(i) + program::get(i) + "\x86" + program::put(i + 1);
       return program + program::put(1000) + "0}" + program::get(1000) + "Ns";
     },
     false, true},
    {"long names of objects that are read inert",
     [](std::size_t n) {
       return program::text(std::string(std::min<std::size_t>(n, 1024), 'm')) + program::put(0) +
              "0" + program::text(std::string(std::min<std::size_t>(n, 1024), 'n')) +
              program::put(1) + "0" + list(n, program::get(0) + program::get(1) + "\x93)R");
     },
     true},
    {"a key of a storage on meta, long",
     [](std::size_t n) {
       const std::string key = program::text(std::string(std::min<std::size_t>(n, 4000), 'k'));
       return "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage + key +
              program::put(5) + "0" + program::text("meta") + program::put(6) + "0" +
              program::global("torch", "FloatStorage") + program::put(7) + "0" +
              program::text("storage") + program::put(8) + "0" +
              list(n, program::get(1) + "((" + program::get(8) + program::get(7) + program::get(5) +
                          program::get(6) + "K\1tQK\0"s + program::get(3) + program::get(4) +
                          "\x89NtR");
     }},
};

class ReadMeterTest : public testing::TestWithParam<Structure> {};

TEST_P(ReadMeterTest, CostsWhatItsBytesWarrantOrIsRefused) {
  const Structure& structure = GetParam();
  for (const std::size_t n : {std::size_t{500}, std::size_t{4000}}) {
    const auto bytes = program_archive("\x80\x02" + structure.program(n) + ".", {"\0\0\0\0"s});
    const Cost cost = cost_of(bytes, structure.inert);
    if (cost.refused) continue;
    const ReadLimits limits;
    EXPECT_LE(cost.steps, limits.steps + limits.steps_per_byte * cost.stored) << n;
    EXPECT_LE(cost.peak, limits.memory + limits.memory_per_byte * cost.stored) << n;
  }
}

// Whatever the size, a limit that is a hundredth ends it a hundred times earlier: what is spent is
// counted while it is spent.
TEST_P(ReadMeterTest, EndsWhereTheLimitsEnd) {
  const Structure& structure = GetParam();
  if (structure.endless) {
    const auto bytes = program_archive("\x80\x02" + structure.program(100) + ".");
    EXPECT_TRUE(cost_of(bytes, structure.inert).refused);
    return;
  }
  const auto bytes = program_archive("\x80\x02" + structure.program(300) + ".", {"\0\0\0\0"s});
  const Cost all = cost_of(bytes, structure.inert, ReadLimits().times(1000));
  ASSERT_FALSE(all.refused);
  EXPECT_FALSE(
      cost_of(bytes, structure.inert,
              {.memory = all.peak, .memory_per_byte = 0, .steps = all.steps, .steps_per_byte = 0})
          .refused);
  EXPECT_TRUE(
      cost_of(bytes, structure.inert, {.memory = all.peak - 1, .memory_per_byte = 0}).refused);
  EXPECT_TRUE(
      cost_of(bytes, structure.inert, {.steps = all.steps - 1, .steps_per_byte = 0}).refused);
}

INSTANTIATE_TEST_SUITE_P(Structures, ReadMeterTest, testing::ValuesIn(kStructures),
                         [](const testing::TestParamInfo<Structure>& about) {
                           std::string name;
                           for (const char* c = about.param.name; *c != '\0'; ++c)
                             if (std::isalnum(static_cast<unsigned char>(*c)) != 0) name += *c;
                           return name;
                         });

TEST(ReadMeter, OrdinaryFilesCostLittle) {
  std::string program = "}(";
  std::string setup = "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage;
  for (int i = 0; i < 1000; ++i)
    program += program::text("model.layers." + std::to_string(i) + ".weight") + kTensor;
  const auto bytes = program_archive("\x80\x02" + setup + program + "u.", {"\0\0\0\0"s});
  const Cost cost = cost_of(bytes, false);
  EXPECT_FALSE(cost.refused);
  EXPECT_LT(cost.steps, 10 * cost.stored);
  EXPECT_LT(cost.peak, 20 * cost.stored);
}

TEST(ReadMeter, LimitsAreRaisedByTheirOption) {
  const auto bytes =
      program_archive("\x80\x02" + program::text(std::string(5000, 'm')).substr(0, 5) +
                      std::string(5000, 'm') + ".");
  EXPECT_THROW(Checkpoint::open(bytes, {.limits = {.memory = 100, .memory_per_byte = 0}}),
               FormatError);
  EXPECT_NO_THROW(Checkpoint::open(bytes));
  EXPECT_EQ(ReadLimits().times(3).memory, 3 * ReadLimits().memory);
  EXPECT_EQ(ReadLimits().times(~std::uint64_t{0}).steps, ~std::uint64_t{0});
}

TEST(ReadMeter, ChargesWhatIsLeft) {
  ReadMeter meter("file", {.memory = 10, .memory_per_byte = 2, .steps = 5, .steps_per_byte = 0});
  meter.add_file(5);
  meter.memory(20);
  EXPECT_THROW(meter.memory(1), FormatError);
  meter.release(15);
  meter.memory(10);
  EXPECT_EQ(meter.peak(), 20u);
  meter.work(5);
  EXPECT_THROW(meter.work(1), FormatError);
  EXPECT_THROW(meter.work(~std::uint64_t{0}), FormatError);
  EXPECT_EQ(meter.steps(), 5u);
}

}  // namespace
}  // namespace tenon
