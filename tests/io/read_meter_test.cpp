// What a file may cost is linear in its bytes: steps and bytes of memory are counted at two sizes of
// everything that a file can use again and again. Note [What a file may cost].
#include "io/read_meter.h"

#include "costly_files.h"
#include "io/document.h"
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

Cost cost_of(const std::vector<std::byte>& bytes, bool inert, const ReadLimits& limits = {},
             Use use = Use::open) {
  Cost cost;
  cost.stored = bytes.size();
  try {
    const auto document = open_document(open_memory(bytes, "memory"), {inert, false, limits});
    ReadMeter meter = document->meter();
    use_file(use, *document, meter);
    cost.steps = meter.steps();
    cost.peak = meter.peak();
  } catch (const FormatError& error) {
    cost.refused = true;
    EXPECT_THAT(error.what(), HasSubstr("do not warrant"));
  } catch (const ValueError& error) {
    cost.refused = true;
    EXPECT_THAT(error.what(), HasSubstr("save: more than 32 million bytes"));
  }
  return cost;
}

class ReadMeterTest : public testing::TestWithParam<Structure> {};

TEST_P(ReadMeterTest, CostsWhatItsBytesWarrantOrIsRefused) {
  const Structure& structure = GetParam();
  for (const std::size_t n : {std::size_t{500}, std::size_t{4000}}) {
    const auto bytes = archive_of(structure, n);
    for (const Use use : kUses) {
      if (!is_possible(structure, use)) continue;
      const Cost cost = cost_of(bytes, structure.inert, {}, use);
      if (cost.refused) continue;
      const ReadLimits limits;
      EXPECT_LE(cost.steps, limits.steps + limits.steps_per_byte * cost.stored) << n;
      EXPECT_LE(cost.peak, limits.memory + limits.memory_per_byte * cost.stored) << n;
    }
  }
}

// Whatever the size, a limit that is a hundredth ends it a hundred times earlier: what is spent is
// counted while it is spent.
TEST_P(ReadMeterTest, EndsWhereTheLimitsEnd) {
  const Structure& structure = GetParam();
  if (structure.endless) {
    const auto bytes = archive_of(structure, 100);
    EXPECT_TRUE(cost_of(bytes, structure.inert).refused);
    return;
  }
  const auto bytes = archive_of(structure, 300);
  for (const Use use : kUses) {
    if (!is_possible(structure, use)) continue;
    const auto with = [&](const ReadLimits& limits) {
      return cost_of(bytes, structure.inert, limits, use);
    };
    const Cost all = with(ReadLimits().times(1000));
    ASSERT_FALSE(all.refused);
    EXPECT_FALSE(
        with({.memory = all.peak, .memory_per_byte = 0, .steps = all.steps, .steps_per_byte = 0})
            .refused);
    EXPECT_TRUE(with({.memory = all.peak - 1, .memory_per_byte = 0}).refused);
    EXPECT_TRUE(with({.steps = all.steps - 1, .steps_per_byte = 0}).refused);
  }
}

INSTANTIATE_TEST_SUITE_P(Structures, ReadMeterTest, testing::ValuesIn(costly_structures()),
                         [](const testing::TestParamInfo<Structure>& about) {
                           std::string name;
                           for (const char* c = about.param.name; *c != '\0'; ++c)
                             if (std::isalnum(static_cast<unsigned char>(*c)) != 0) name += *c;
                           return name;
                         });

TEST(ReadMeter, OrdinaryFilesCostLittle) {
  const auto bytes = archive_of(costly_structures()[0], 1000);
  for (const Use use : kUses) {
    const Cost cost = cost_of(bytes, false, {}, use);
    EXPECT_FALSE(cost.refused);
    EXPECT_LT(cost.steps, 10 * cost.stored);
    EXPECT_LT(cost.peak, 20 * cost.stored);
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

}  // namespace
}  // namespace tenon
