#include "io/read/source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/error.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

// The system's clock for files goes by ticks: a change in the tick of the opening is not seen.
void wait_for_a_tick() { ::usleep(20'000); }

TEST(Source, AWriteWhoseTimeIsPutBackIsNoticed) {
  const TempDir folder;
  const std::string path = folder.write("x", "0123456789");
  const auto source = open_file(path);
  EXPECT_NO_THROW(source->check_unchanged());
  struct stat before{};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  wait_for_a_tick();
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file << "abc";
  }
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  expect_error<FormatError>([&] { source->check_unchanged(); }, "was changed while it was read",
                            "read it again");
}

TEST(Source, AFileThatIsReplacedOrRemovedIsStillTheOneThatWasOpened) {
  const TempDir folder;
  const std::string path = folder.write("x", "old"), other = folder.write("y", "new");
  const auto source = open_file(path);
  wait_for_a_tick();
  fs::rename(other, path);
  EXPECT_NO_THROW(source->check_unchanged());
  const auto second = open_file(path);
  wait_for_a_tick();
  fs::remove(path);
  EXPECT_NO_THROW(second->check_unchanged());
}

TEST(Source, AFileOfTwoNamesIsOne) {
  const TempDir folder;
  const std::string path = folder.write("x", "text");
  fs::create_hard_link(path, folder.file("y"));
  fs::create_symlink(path, folder.file("z"));
  folder.write("other", "text");
  const auto identity = [&](const char* name) { return open_file(folder.file(name))->identity(); };
  ASSERT_TRUE(identity("x"));
  EXPECT_EQ(identity("x"), identity("y"));
  EXPECT_EQ(identity("x"), identity("z"));
  EXPECT_NE(identity("x"), identity("other"));
  EXPECT_FALSE(open_memory({}, "memory")->identity());
}

}  // namespace
}  // namespace tenon
