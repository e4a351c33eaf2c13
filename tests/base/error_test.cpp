#include "tenon/error.h"

#include "base/assert.h"
#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Error, EveryTypeIsAnError) {
  expect_error<Error>([] { throw SwapError("s"); }, "s");
  expect_error<std::runtime_error>([] { throw IndexError("i"); }, "i");
}

TEST(Error, CarriesWhatACallerCanActOn) {
  try {
    throw OutOfMemoryError("too much", 1234);
  } catch (const OutOfMemoryError& error) {
    EXPECT_EQ(error.bytes(), 1234U);
  }
  expect_error<IoError>([] { throw IoError("cannot open", "a/b", 2); },
                        "a/b: cannot open: No such file or directory");
}

#ifdef TENON_ASSERTIONS
TEST(Assert, IsAnExceptionThatSaysItIsOurFault) {
  expect_error<InternalError>([] { TENON_ASSERT(1 + 1 == 3); }, "1 + 1 == 3", "bug in Tenon",
                              "error_test.cpp");
}
#endif

}  // namespace
}  // namespace tenon
