#include "tenon/error.h"

#include <cerrno>
#include <string>

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

TEST(Error, WhatFilesChoseIsSafeToLogAndTheFieldsHaveItAsItWas) {
  const std::string name = "a\x1b[31m\nb\u202e.pth";
  const std::string seen = "a\\u{1b}[31m\\u{a}b\\u{202e}.pth";
  const FormatError format(name, 7, "it names " + name);
  EXPECT_EQ(format.what(), seen + ": byte 7: it names " + seen);
  EXPECT_EQ(format.file(), name);
  EXPECT_EQ(ChecksumError(name, 0, "x").what(), seen + ": byte 0: x");
  const IoError io("cannot open the folder " + name, name, ENOENT);
  EXPECT_EQ(io.what(), seen + ": cannot open the folder " + seen + ": No such file or directory");
  EXPECT_EQ(io.file(), name);
  EXPECT_STREQ(DeviceError("on " + name).what(), ("on " + seen).c_str());
}

TEST(Error, ANameOfAMegabyteIsNoMegabyteOfALog) {
  const std::string name(1 << 20, 'n');
  const std::string what = FormatError(name, 7, "it names " + name).what();
  EXPECT_LT(what.size(), 9000U);
  EXPECT_THAT(what, testing::HasSubstr("...: byte 7: it names n"));
  EXPECT_LT(std::string(IoError("cannot open", name, 2).what()).size(), 5000U);
  EXPECT_LT(std::string(DeviceError(name).what()).size(), 5000U);
}

TEST(Error, EveryTypeIsSafeToShow) {
  const std::string name = "a\x1b[31m\u202e\xff", seen = "a\\u{1b}[31m\\u{202e}\\xff";
  const auto expect_safe = [&](const Error& error) { EXPECT_EQ(error.what(), seen); };
  expect_safe(Error(name));
  expect_safe(Error(name.c_str()));
  expect_safe(ShapeError(name));
  expect_safe(DTypeError(name));
  expect_safe(DeviceError(name));
  expect_safe(IndexError(name));
  expect_safe(ValueError(name));
  expect_safe(TypeError(name));
  expect_safe(NotImplementedError(name));
  expect_safe(AutogradError(name));
  expect_safe(SwapError(name));
  expect_safe(OutOfMemoryError(name, 1));
  expect_safe(CancelledError(name));
  expect_safe(LoadError(name, {}));
  expect_safe(InternalError(name));
}

TEST(Error, MessagesOfOursKeepTheirLines) {
  EXPECT_STREQ(LoadError("a:\n\tb", {}).what(), "a:\n\tb");
  EXPECT_STREQ(ValueError("a\nb").what(), "a\nb");
}

#ifdef TENON_ASSERTIONS
TEST(Assert, IsAnExceptionThatSaysItIsOurFault) {
  expect_error<InternalError>([] { TENON_ASSERT(1 + 1 == 3); }, "1 + 1 == 3", "bug in Tenon",
                              "error_test.cpp");
}
#endif

}  // namespace
}  // namespace tenon
