#include "base/mapping.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "support/matchers.h"
#include "support/temp_dir.h"

namespace tenon {
namespace {

TEST(Mapping, ShowsTheFile) {
  const TempDir dir;
  const auto mapping = Mapping::open(dir.write("f", "hello"), Mapping::Mode::private_copy);
  ASSERT_EQ(mapping->size(), 5U);
  EXPECT_EQ(std::memcmp(mapping->data(), "hello", 5), 0);
}

TEST(Mapping, PrivateWritesStayHereAndSharedOnesDoNot) {
  const TempDir dir;
  const std::string path = dir.write("f", "hello");
  Mapping::open(path, Mapping::Mode::private_copy)->data()[0] = std::byte{'J'};
  EXPECT_EQ(TempDir::read(path), "hello");
  Mapping::open(path, Mapping::Mode::shared)->data()[0] = std::byte{'J'};
  EXPECT_EQ(TempDir::read(path), "Jello");
}

TEST(Mapping, APrivateOneNeedsNoPermissionToWrite) {
  const TempDir dir;
  const std::string path = dir.write("f", "hello");
  ::chmod(path.c_str(), 0400);
  const auto mapping = Mapping::open(path, Mapping::Mode::private_copy);
  mapping->data()[0] = std::byte{'J'};
  EXPECT_EQ(TempDir::read(path), "hello");
}

TEST(Mapping, AnEmptyFileHasNoBytes) {
  const TempDir dir;
  const auto mapping = Mapping::open(dir.write("f", ""), Mapping::Mode::private_copy);
  EXPECT_EQ(mapping->size(), 0U);
  EXPECT_EQ(mapping->data(), nullptr);
}

TEST(Mapping, SaysWhichFileAndWhy) {
  const TempDir dir;
  const auto open = [](const std::string& path) {
    Mapping::open(path, Mapping::Mode::private_copy);
  };
  expect_error<IoError>([&] { open(dir.file("missing")); }, dir.file("missing"), "No such file");
  expect_error<IoError>([&] { open(dir.file("")); }, "not a regular file");
  ::mkfifo(dir.file("pipe").c_str(), 0600);
  expect_error<IoError>([&] { open(dir.file("pipe")); },
                        "not a regular file");  // and does not wait for a writer
  try {
    open(dir.file("missing"));
  } catch (const IoError& error) {
    EXPECT_EQ(error.error_number(), ENOENT);
    EXPECT_EQ(error.file(), dir.file("missing"));
  }
}

}  // namespace
}  // namespace tenon
