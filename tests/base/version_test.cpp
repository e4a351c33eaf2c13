#include "tenon/version.h"

#include "base/text.h"
#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Version, IsThatOfTheLibrary) { EXPECT_EQ(library_version(), kVersion); }

TEST(Version, HasItsNumbersAsMacros) {
  EXPECT_EQ(concat(TENON_VERSION_MAJOR, ".", TENON_VERSION_MINOR, ".", TENON_VERSION_PATCH),
            kVersion);
  EXPECT_EQ(TENON_VERSION,
            TENON_VERSION_MAJOR * 10000 + TENON_VERSION_MINOR * 100 + TENON_VERSION_PATCH);
}

}  // namespace
}  // namespace tenon
