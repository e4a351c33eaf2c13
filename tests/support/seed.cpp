// Every test draws the same random numbers, whether it runs alone or after others: one that fails,
// fails again. TENON_TEST_SEED=N gives it others.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tenon/generator.h"

namespace tenon {
namespace {

class Seeded final : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo& /*test*/) override {
    const char* chosen = std::getenv("TENON_TEST_SEED");
    manual_seed(chosen == nullptr ? 0 : std::strtoull(chosen, nullptr, 10));
  }
};

// GoogleTest owns it.
[[maybe_unused]] const bool listens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Seeded);
  return true;
}();

}  // namespace
}  // namespace tenon
