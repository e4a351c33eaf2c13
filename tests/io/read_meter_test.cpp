// What a file may cost is linear in its bytes: steps and bytes of memory are counted at two sizes
// of everything that a file can use again and again. Note [What a file may cost].
#include "io/support/read_meter.h"

#include <algorithm>

#include "costly_files.h"
#include "io/formats/document.h"
#include "support/matchers.h"
#include "support/program_archive.h"
#include "tenon/checkpoint.h"

namespace tenon {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

struct Cost {
  std::string refusal = {};           // why it is refused, if it is
  std::uint64_t steps = 0, peak = 0;  // until then
  bool exceeded() const { return refusal.find("do not warrant") != refusal.npos; }
};

Cost cost_of(const CostlyFile& file, const ReadLimits& limits = {}, Use use = Use::open) {
  Cost cost;
  ReadMeter meter("memory", limits);
  try {
    const auto document = file.open(limits, &meter);
    use_file(use, *document, meter);
  } catch (const FormatError& error) {
    cost.refusal = error.what();
  } catch (const ValueError& error) {
    cost.refusal = error.what();
    EXPECT_THAT(cost.refusal, HasSubstr("save: more than 32 million bytes"));
  }
  cost.steps = meter.steps();
  cost.peak = meter.peak();
  EXPECT_EQ(cost.exceeded(), meter.exceeded()) << cost.refusal;
  return cost;
}

// Neither for what it is, which is not about its cost, nor for anything else.
void expect_only_its_refusal(const Structure& structure, const Cost& cost) {
  if (structure.refusal == nullptr)
    EXPECT_EQ(cost.refusal, "");
  else
    EXPECT_THAT(cost.refusal, HasSubstr(structure.refusal));
}

bool is_endless(const Structure& structure, Use use) {
  return std::ranges::find(structure.endless, use) != structure.endless.end();
}
// Which what grows faster than its file reaches soon.
ReadLimits small_limits() {
  ReadLimits limits;
  limits.memory /= 64;
  limits.steps /= 64;
  return limits;
}

class ReadMeterTest : public testing::TestWithParam<Structure> {};

TEST_P(ReadMeterTest, CostsWhatItsBytesWarrantOrIsRefused) {
  const Structure& structure = GetParam();
  for (const std::size_t n : {std::size_t{500}, std::size_t{4000}}) {
    const CostlyFile file(structure, n);
    for (const Use use : kUses) {
      // What doubles is below, with limits that are reached sooner.
      if (!is_possible(structure, use) || is_endless(structure, use)) continue;
      const Cost cost = cost_of(file, {}, use);
      if (cost.exceeded()) continue;
      if (structure.refusal != nullptr) expect_only_its_refusal(structure, cost);
      const ReadLimits limits;
      EXPECT_LE(cost.steps, limits.steps + limits.steps_per_byte * file.stored()) << n;
      EXPECT_LE(cost.peak, limits.memory + limits.memory_per_byte * file.stored()) << n;
    }
  }
}

// Twice as many bytes cost twice as much: no constant part of the limits is so large that more
// would be within them for long. What costs more is known, and refused at last.
TEST_P(ReadMeterTest, GrowsAsItsBytesDoOrIsRefused) {
  const Structure& structure = GetParam();
  const CostlyFile few(structure, structure.size), many(structure, 2 * structure.size);
  // Beside what every such file has.
  const std::uint64_t always = CostlyFile(structure, 0).stored();
  const double bytes =
      static_cast<double>(many.stored() - always) / static_cast<double>(few.stored() - always);
  const auto grows = [&](std::uint64_t cost, std::uint64_t of_more) {
    constexpr double kSlack = 1.1, kConstant = 4096;
    return static_cast<double>(of_more) > kSlack * bytes * static_cast<double>(cost) + kConstant;
  };
  for (const Use use : kUses) {
    if (!is_possible(structure, use) || is_endless(structure, use)) continue;
    const Cost cost = cost_of(few, ReadLimits().times(1000), use),
               more = cost_of(many, ReadLimits().times(1000), use);
    expect_only_its_refusal(structure, cost);
    expect_only_its_refusal(structure, more);
    const bool multiplies =
        std::ranges::find(structure.multiplied, use) != structure.multiplied.end();
    EXPECT_EQ(grows(cost.steps, more.steps) || grows(cost.peak, more.peak), multiplies)
        << "use " << static_cast<int>(use) << ": " << few.stored() << " bytes, " << cost.steps
        << " steps and " << cost.peak << " bytes of memory; " << many.stored() << ", " << more.steps
        << ", " << more.peak;
    if (!multiplies && (structure.refused_at == 0 || !structure.multiplied.empty())) continue;
    const CostlyFile large(structure, structure.refused_at);
    EXPECT_TRUE(cost_of(large, small_limits(), use).exceeded()) << "use " << static_cast<int>(use);
  }
}

// Whatever the size, a limit that is a hundredth ends it a hundred times earlier: what is spent is
// counted while it is spent.
TEST_P(ReadMeterTest, EndsWhereTheLimitsEnd) {
  const Structure& structure = GetParam();
  const CostlyFile file(structure, 300);
  for (const Use use : kUses) {
    if (!is_possible(structure, use)) continue;
    if (is_endless(structure, use)) {
      EXPECT_TRUE(cost_of(file, small_limits(), use).exceeded()) << static_cast<int>(use);
      continue;
    }
    const auto with = [&](const ReadLimits& limits) { return cost_of(file, limits, use); };
    const Cost all = with(ReadLimits().times(1000));
    expect_only_its_refusal(structure, all);
    expect_only_its_refusal(
        structure,
        with({.memory = all.peak, .memory_per_byte = 0, .steps = all.steps, .steps_per_byte = 0}));
    EXPECT_TRUE(with({.memory = all.peak - 1, .memory_per_byte = 0}).exceeded());
    EXPECT_TRUE(with({.steps = all.steps - 1, .steps_per_byte = 0}).exceeded());
  }
}

INSTANTIATE_TEST_SUITE_P(Structures, ReadMeterTest, testing::ValuesIn(costly_structures()),
                         [](const testing::TestParamInfo<Structure>& about) {
                           std::string name;
                           for (const char* c = about.param.name; *c != '\0'; ++c)
                             if (std::isalnum(static_cast<unsigned char>(*c)) != 0) name += *c;
                           return name;
                         });

// Not each with each other.
TEST(ReadMeter, ItemsOfSetsAreComparedWithThoseTheyAreEqualTo) {
  std::size_t found = 0;
  for (const Structure& structure : costly_structures()) {
    if (!std::string_view(structure.name).starts_with("sets of sets")) continue;
    ++found;
    const auto cost = [&](std::size_t n) { return cost_of(CostlyFile(structure, n)); };
    const Cost few = cost(200), many = cost(800);
    EXPECT_EQ(few.refusal + many.refusal, "") << structure.name;
    EXPECT_LT(many.steps, 5 * few.steps) << structure.name;
  }
  EXPECT_EQ(found, 2u);
}

TEST(ReadMeter, OrdinaryFilesCostLittle) {
  const CostlyFile file(costly_structures()[0], 1000);
  for (const Use use : kUses) {
    const Cost cost = cost_of(file, {}, use);
    EXPECT_EQ(cost.refusal, "");
    EXPECT_LT(cost.steps, 10 * file.stored());
    EXPECT_LT(cost.peak, 20 * file.stored());
  }
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

TEST(ReadMeter, StepsOfAnAttemptStayAndItsMemoryDoesNot) {
  ReadMeter meter("file", {.memory = 10, .memory_per_byte = 0, .steps = 10, .steps_per_byte = 0});
  meter.work(2);
  const auto attempt = [&](std::uint64_t steps) {
    PassingMeter passing(meter);
    passing.get().memory(7);
    passing.get().work(3);
    passing.get().work(steps);
  };
  attempt(0);
  EXPECT_EQ(meter.steps(), 5u);
  EXPECT_EQ(meter.held(), 0u);
  EXPECT_EQ(meter.peak(), 7u);
  EXPECT_FALSE(meter.exceeded());
  EXPECT_THROW(attempt(3), FormatError);
  EXPECT_EQ(meter.steps(), 8u);
  EXPECT_TRUE(meter.exceeded());
}

}  // namespace
}  // namespace tenon
