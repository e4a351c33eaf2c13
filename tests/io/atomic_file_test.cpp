#include "io/write/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "io/faulty_file_system.h"
#include "io/files.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/error.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

void save(const std::string& path, std::string_view text, FileSystem& system = FileSystem::system(),
          bool durable = true) {
  AtomicFile file(system, path, durable);
  file.reserve(text.size());
  const std::size_t half = text.size() / 2;
  file.write_at(half, bytes_of(text.substr(half)));
  file.write_at(0, bytes_of(text.substr(0, half)));
  file.commit();
}

std::size_t open_descriptors() { return names_in("/proc/self/fd").size(); }

struct stat facts_of(const std::string& path) {
  struct stat facts{};
  EXPECT_EQ(::lstat(path.c_str(), &facts), 0) << path;
  return facts;
}

mode_t mode_of(const std::string& path) { return facts_of(path).st_mode & 07777; }

// A process that is killed while it writes.
void be_killed_while_writing(const std::string& path) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      const AtomicFile file(FileSystem::system(), path, true);
      file.write_at(0, bytes_of("half of"));
      ::kill(::getpid(), SIGKILL);
    } catch (...) {
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(AtomicFile, CreatesAndReplacesAndLeavesNothingElse) {
  const TempDir dir;
  const std::string path = dir.file("model.pth");
  for (const bool durable : {true, false}) {
    for (const std::string text : {"the first", "another, longer than the first", "short", ""}) {
      save(path, text, FileSystem::system(), durable);
      EXPECT_EQ(TempDir::read(path), text);
    }
  }
  EXPECT_THAT(names_in(dir.file("")), ElementsAre("model.pth"));
}

TEST(AtomicFile, IsNotThereBeforeItIsCommitted) {
  const TempDir dir;
  const std::string path = dir.file("x");
  {
    AtomicFile file(FileSystem::system(), path, true);
    EXPECT_EQ(file.path(), path);
    file.write_at(0, bytes_of("all of it"));
    EXPECT_THAT(names_in(dir.file("")), ElementsAre(".x.tenon-tmp0"));
    file.sync();
    EXPECT_FALSE(fs::exists(path));
    file.publish();
    EXPECT_THAT(names_in(dir.file("")), ElementsAre("x"));
  }
  EXPECT_EQ(TempDir::read(path), "all of it");
}

TEST(AtomicFile, WithoutACommitTheOldFileStays) {
  const TempDir dir;
  const std::string path = dir.write("x", "old");
  {
    AtomicFile(FileSystem::system(), path, true).write_at(0, bytes_of("new"));
  }
  EXPECT_EQ(TempDir::read(path), "old");
  EXPECT_THAT(names_in(dir.file("")), ElementsAre("x"));
}

TEST(AtomicFile, SyncsTheFileThenNamesItThenSyncsTheFolder) {
  const TempDir dir;
  const auto tail = [&](bool durable) {
    FaultyFileSystem system([](std::string_view) { return 0; });
    save(dir.file("x"), "text", system, durable);
    const auto begin = std::find(system.calls.rbegin(), system.calls.rend(), "pwrite").base();
    return std::vector<std::string>(begin, system.calls.end());
  };
  EXPECT_THAT(tail(true), ElementsAre("fsync", "rename", "close", "open", "fsync", "close"));
  EXPECT_THAT(tail(false), ElementsAre("dup", "close", "rename", "close"));
}

TEST(AtomicFile, IsSyncedOnceAndPublishedOnlyAfterThat) {
  const TempDir dir;
  AtomicFile file(FileSystem::system(), dir.file("x"), true);
  EXPECT_THROW(file.publish(), InternalError);
  EXPECT_THROW(file.sync(), InternalError);
  EXPECT_FALSE(fs::exists(dir.file("x")));
}

TEST(AtomicFile, AWorkingDirectoryAndLongNamesAreNoTrouble) {
  const TempDir dir;
  const fs::path before = fs::current_path();
  fs::current_path(dir.file(""));
  std::string long_name;
  while (long_name.size() < 254) long_name += "\u00e4";
  for (const std::string& name : {std::string("plain"), std::string(255, 'n'), long_name}) {
    AtomicFile one(FileSystem::system(), name, true), two(FileSystem::system(), name, true);
    EXPECT_EQ(names_in(".").size(), 2u);
    one.commit();
    two.commit();
    EXPECT_THAT(names_in("."), ElementsAre(name));
    fs::remove(name);
  }
  {  // Names that differ only where they are cut.
    AtomicFile a(FileSystem::system(), std::string(254, 'n') + "a", true);
    AtomicFile b(FileSystem::system(), std::string(254, 'n') + "b", true);
    for (const std::string& name : names_in(".")) EXPECT_TRUE(name.ends_with("tenon-tmp0")) << name;
    EXPECT_EQ(names_in(".").size(), 2u);
  }
  EXPECT_THAT(names_in("."), IsEmpty());
  fs::current_path(before);
}

TEST(AtomicFile, ANewFileGetsTheModeTheUserWants) {
  const TempDir dir;
  const mode_t before = ::umask(027);
  save(dir.file("a"), "text");
  ::umask(0);
  save(dir.file("b"), "text");
  ::umask(before);
  EXPECT_EQ(mode_of(dir.file("a")), 0640u);
  EXPECT_EQ(mode_of(dir.file("b")), 0666u);
}

TEST(AtomicFile, KeepsTheModeOfTheOldFileFromTheFirstByteOn) {
  const TempDir dir;
  const std::string path = dir.write("x", "old");
  for (const mode_t mode : {0600u, 0644u, 0666u, 0751u}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    AtomicFile file(FileSystem::system(), path, true);
    EXPECT_EQ(mode_of(dir.file(".x.tenon-tmp0")), mode);
    file.commit();
    EXPECT_EQ(mode_of(path), mode);
  }
}

TEST(AtomicFile, SetUidAndItsKinDoNotOutliveTheBytesTheyWereGivenTo) {
  const TempDir dir;
  const std::string path = dir.write("x", "old");
  for (const mode_t mode : {04755u, 02755u, 06711u, 01644u, 07777u}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    AtomicFile file(FileSystem::system(), path, true);
    EXPECT_EQ(mode_of(dir.file(".x.tenon-tmp0")), mode & 0777);
    file.commit();
    EXPECT_EQ(mode_of(path), mode & 0777);
  }
}

TEST(AtomicFile, KeepsTheOwnerWhereItMay) {
  const TempDir dir;
  const std::string path = dir.write("x", "old");
  if (::chown(path.c_str(), 12345, 23456) != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(::chmod(path.c_str(), 06754), 0);
  save(path, "new");
  EXPECT_EQ(facts_of(path).st_uid, 12345u);
  EXPECT_EQ(facts_of(path).st_gid, 23456u);
  EXPECT_EQ(mode_of(path), 0754u);
  // Where it may not, nobody gets rights that were meant for the old owner and group.
  FaultyFileSystem system(always("fchown", EPERM));
  save(path, "newer", system);
  EXPECT_EQ(TempDir::read(path), "newer");
  EXPECT_EQ(facts_of(path).st_uid, ::getuid());
  EXPECT_EQ(mode_of(path), 0744u);
}

TEST(AtomicFile, WhatMayNotBeWrittenIsNotReplaced) {
  const TempDir dir;
  const std::string path = dir.write("x", "old");
  FaultyFileSystem system(always("access", EACCES));  // root may everything
  EXPECT_EQ(io_error([&] { save(path, "new", system); }, path, "cannot be written", "denied"),
            EACCES);
  if (::geteuid() != 0) {
    ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
    EXPECT_EQ(io_error([&] { save(path, "new"); }, "cannot be written"), EACCES);
  }
  EXPECT_EQ(TempDir::read(path), "old");
  EXPECT_THAT(names_in(dir.file("")), ElementsAre("x"));
}

TEST(AtomicFile, ALinkStaysAndWhatItLeadsToIsReplaced) {
  const TempDir dir;
  fs::create_directory(dir.file("data"));
  fs::create_directory(dir.file("links"));
  dir.write("data/x", "old");
  fs::create_symlink("../data/x", dir.file("links/relative"));
  fs::create_symlink(dir.file("links/relative"), dir.file("chain"));
  fs::create_symlink("../data/y", dir.file("links/dangling"));
  save(dir.file("chain"), "new");
  save(dir.file("links/dangling"), "made");
  EXPECT_EQ(TempDir::read(dir.file("data/x")), "new");
  EXPECT_EQ(TempDir::read(dir.file("data/y")), "made");
  for (const char* link : {"chain", "links/relative", "links/dangling"})
    EXPECT_TRUE(fs::is_symlink(dir.file(link))) << link;
  EXPECT_THAT(names_in(dir.file("data")), ElementsAre("x", "y"));
  EXPECT_THAT(names_in(dir.file("links")), ElementsAre("dangling", "relative"));
}

TEST(AtomicFile, LinksThatLeadNowhereAreErrors) {
  const TempDir dir;
  fs::create_symlink("b", dir.file("a"));
  fs::create_symlink("a", dir.file("b"));
  fs::create_symlink("none/x", dir.file("c"));
  EXPECT_EQ(io_error([&] { save(dir.file("a"), "text"); }, dir.file("a")), ELOOP);
  EXPECT_EQ(io_error([&] { save(dir.file("c"), "text"); }, "the folder", "none does not exist"),
            ENOENT);
  EXPECT_EQ(names_in(dir.file("")).size(), 3u);
}

TEST(AtomicFile, OnlyRegularFilesAreReplaced) {
  const TempDir dir;
  fs::create_directory(dir.file("folder"));
  ASSERT_EQ(::mkfifo(dir.file("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", dir.file("link"));
  fs::create_symlink("new/", dir.file("slash"));
  const auto saving = [&](const std::string& name) {
    return [&dir, name] { save(dir.file(name), "text"); };
  };
  EXPECT_EQ(io_error(saving("folder"), "cannot be written"), EISDIR);
  EXPECT_EQ(io_error(saving("folder/")), EISDIR);
  EXPECT_EQ(io_error(saving("none/")), EISDIR);
  EXPECT_EQ(io_error(saving("slash")), EISDIR);
  for (const std::string name : {"pipe", "link"})
    EXPECT_EQ(io_error(saving(name), "not a regular file", "pass an open descriptor"), ESPIPE);
  EXPECT_EQ(io_error([] { save("/dev/null", "text"); }, "/dev/null: is not a regular file"),
            ESPIPE);
  EXPECT_EQ(io_error([] { save("", "text"); }), ENOENT);
  EXPECT_EQ(io_error(saving(std::string("a\0b", 3)), "zero byte"), EINVAL);
  EXPECT_EQ(io_error(saving("none/x"), "the folder " + dir.file("none") + " does not exist"),
            ENOENT);
  EXPECT_EQ(io_error(saving("pipe/x")), ENOTDIR);
  EXPECT_THAT(names_in(dir.file("")), ElementsAre("folder", "link", "pipe", "slash"));
}

TEST(AtomicFile, APipeBehindADescriptorsLinkIsNotReplaced) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string path = "/proc/self/fd/" + std::to_string(ends[1]);
  EXPECT_EQ(io_error([&] { save(path, "text"); }, "pass an open descriptor"), ESPIPE);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(AtomicFile, TheNextSaveRemovesWhatKilledProcessesLeft) {
  const TempDir dir;
  const std::string path = dir.write("x", "old");
  be_killed_while_writing(path);
  EXPECT_EQ(TempDir::read(path), "old");
  EXPECT_THAT(names_in(dir.file("")), ElementsAre(".x.tenon-tmp0", "x"));
  for (const char* slot : {".x.tenon-tmp1", ".x.tenon-tmp7", ".x.tenon-tmp15"})
    dir.write(slot, "?");
  dir.write(".y.tenon-tmp0", "of another file");
  save(path, "new");
  EXPECT_EQ(TempDir::read(path), "new");
  EXPECT_THAT(names_in(dir.file("")), ElementsAre(".y.tenon-tmp0", "x"));
}

TEST(AtomicFile, OneThatIsBeingWrittenIsNoLeftover) {
  const TempDir dir;
  const std::string path = dir.file("x");
  AtomicFile one(FileSystem::system(), path, true), two(FileSystem::system(), path, true);
  one.write_at(0, bytes_of("one"));
  two.write_at(0, bytes_of("two"));
  EXPECT_THAT(names_in(dir.file("")), ElementsAre(".x.tenon-tmp0", ".x.tenon-tmp1"));
  one.commit();
  EXPECT_EQ(TempDir::read(path), "one");
  // The slot that is free now is taken again; the second still writes.
  AtomicFile three(FileSystem::system(), path, true);
  EXPECT_THAT(names_in(dir.file("")), ElementsAre(".x.tenon-tmp0", ".x.tenon-tmp1", "x"));
  three.commit();
  two.commit();
  EXPECT_EQ(TempDir::read(path), "two");
  EXPECT_THAT(names_in(dir.file("")), ElementsAre("x"));
}

TEST(AtomicFile, WhatIsNoFileInASlotIsLeftAlone) {
  const TempDir dir;
  fs::create_directory(dir.file(".x.tenon-tmp0"));
  ASSERT_EQ(::mkfifo(dir.file(".x.tenon-tmp1").c_str(), 0600), 0);
  dir.write("precious", "precious");
  fs::create_symlink("precious", dir.file(".x.tenon-tmp2"));
  fs::create_symlink("precious", dir.file(".x.tenon-tmp9"));
  save(dir.file("x"), "text");
  EXPECT_EQ(TempDir::read(dir.file("precious")), "precious");
  EXPECT_THAT(names_in(dir.file("")), ElementsAre(".x.tenon-tmp0", ".x.tenon-tmp1", ".x.tenon-tmp2",
                                                  ".x.tenon-tmp9", "precious", "x"));
}

TEST(AtomicFile, WhoHoldsAllSlotsCannotKeepOthersFromSaving) {
  const TempDir dir;
  const std::string path = dir.file("x");
  std::vector<std::unique_ptr<AtomicFile>> writers;
  for (int i = 0; i < 20; ++i)
    writers.push_back(std::make_unique<AtomicFile>(FileSystem::system(), path, false));
  EXPECT_EQ(names_in(dir.file("")).size(), 20u);
  save(path, "text");
  EXPECT_EQ(TempDir::read(path), "text");
  writers.clear();
  EXPECT_THAT(names_in(dir.file("")), ElementsAre("x"));
  for (int i = 0; i < 16; ++i) fs::create_directory(dir.file(".x.tenon-tmp" + std::to_string(i)));
  save(path, "more");
  EXPECT_EQ(TempDir::read(path), "more");
  // A name as long as names may be.
  const std::string longest(255, 'l');
  for (int i = 0; i < 17; ++i)
    writers.push_back(std::make_unique<AtomicFile>(FileSystem::system(), dir.file(longest), false));
  writers.back()->commit();
  EXPECT_TRUE(fs::exists(dir.file(longest)));
}

TEST(AtomicFile, LeftoversWithRandomNamesAreFoundToo) {
  const TempDir dir;
  const std::string path = dir.file("x");
  for (int i = 0; i < 16; ++i) fs::create_directory(dir.file(".x.tenon-tmp" + std::to_string(i)));
  be_killed_while_writing(path);
  EXPECT_EQ(names_in(dir.file("")).size(), 17u);
  for (int i = 0; i < 16; ++i) fs::remove(dir.file(".x.tenon-tmp" + std::to_string(i)));
  for (const char* other :
       {".x.tenon-tmp-0123", ".x.tenon-tmp-0123456789abcdeg", ".y.tenon-tmp-0123456789abcdef"})
    dir.write(other, "of others");
  save(path, "text");
  EXPECT_THAT(names_in(dir.file("")),
              ElementsAre(".x.tenon-tmp-0123", ".x.tenon-tmp-0123456789abcdeg",
                          ".y.tenon-tmp-0123456789abcdef", "x"));
}

// ---- without replacing

void save_new(const std::string& path, std::string_view text,
              FileSystem& system = FileSystem::system()) {
  AtomicFile file(system, path, true, false);
  file.write_at(0, bytes_of(text));
  file.commit();
}

TEST(AtomicFile, WithoutReplacingWhateverHasTheNameKeepsIt) {
  const TempDir dir;
  save_new(dir.file("x"), "text");
  EXPECT_EQ(TempDir::read(dir.file("x")), "text");
  dir.write("precious", "precious");
  fs::create_symlink("precious", dir.file("link"));
  fs::create_symlink("none", dir.file("dangling"));
  fs::create_directory(dir.file("folder"));
  for (const char* name : {"x", "link", "dangling", "folder"}) {
    EXPECT_EQ(io_error([&] { save_new(dir.file(name), "new"); }, dir.file(name), "is there already",
                       "choose another name"),
              EEXIST);
  }
  EXPECT_EQ(TempDir::read(dir.file("x")), "text");
  EXPECT_EQ(TempDir::read(dir.file("precious")), "precious");
  EXPECT_THAT(names_in(dir.file("")), ElementsAre("dangling", "folder", "link", "precious", "x"));
}

// Between the last look and the name: on file systems with RENAME_NOREPLACE, and without it.
TEST(AtomicFile, WithoutReplacingWhatAppearsMeanwhileKeepsTheName) {
  for (const int refused : {0, EINVAL, ENOSYS}) {
    for (const bool as_link : {false, true}) {
      const TempDir dir;
      const std::string precious = dir.write("precious", "precious");
      const std::string path = dir.file("x");
      FaultyFileSystem system([&](std::string_view call) {
        if (call != (refused == 0 ? "renameat2" : "link")) return call == "renameat2" ? refused : 0;
        if (as_link)
          fs::create_symlink(precious, path);
        else
          dir.write("x", "theirs");
        return 0;
      });
      EXPECT_EQ(io_error([&] { save_new(path, "ours", system); }, path, "is there already"),
                EEXIST);
      EXPECT_EQ(TempDir::read(precious), "precious");
      EXPECT_EQ(TempDir::read(path), as_link ? "precious" : "theirs");
      EXPECT_EQ(fs::is_symlink(path), as_link);
      EXPECT_THAT(names_in(dir.file("")), ElementsAre("precious", "x"));
    }
  }
}

TEST(AtomicFile, WithoutReplacingFileSystemsThatCannotDoThatMakeASecondName) {
  for (const int refused : {EINVAL, ENOSYS}) {
    const TempDir dir;
    FaultyFileSystem system(always("renameat2", refused));
    save_new(dir.file("x"), "text", system);
    EXPECT_EQ(TempDir::read(dir.file("x")), "text");
    EXPECT_EQ(facts_of(dir.file("x")).st_nlink, 1u);
    EXPECT_THAT(names_in(dir.file("")), ElementsAre("x"));
  }
  const TempDir dir;
  FaultyFileSystem neither([](std::string_view call) {
    return call == "renameat2" ? EINVAL : call == "link" ? EPERM : 0;
  });
  EXPECT_EQ(io_error([&] { save_new(dir.file("x"), "text", neither); }, "without replacing"),
            EPERM);
  EXPECT_THAT(names_in(dir.file("")), IsEmpty());
}

TEST(AtomicFile, WithoutReplacingAFailedCallLeavesNothing) {
  for (int k = 1;; ++k) {
    const TempDir dir;
    int calls = 0;
    std::string failed;
    FaultyFileSystem system([&](std::string_view call) {
      if (++calls != k) return 0;
      failed = call;
      return EIO;
    });
    bool threw = false;
    try {
      save_new(dir.file("x"), "text", system);
    } catch (const IoError& error) {
      threw = true;
      EXPECT_EQ(error.error_number(), EIO) << failed;
    }
    if (failed.empty()) break;
    EXPECT_TRUE(threw || system.renamed) << failed;
    EXPECT_EQ(fs::exists(dir.file("x")), system.renamed) << failed;
    EXPECT_EQ(names_in(dir.file("")).size(), system.renamed ? 1u : 0u) << failed;
  }
}

TEST(AtomicFile, WithoutLocksItWritesAndRemovesNothing) {
  const TempDir dir;
  for (const int error : {ENOLCK, EOPNOTSUPP, ENOSYS}) {
    dir.write(".x.tenon-tmp0", "who knows");
    FaultyFileSystem system(always("flock", error));
    save(dir.file("x"), "text", system);
    EXPECT_THAT(names_in(dir.file("")), ElementsAre(".x.tenon-tmp0", "x"));
  }
}

// Another process takes the new file for a leftover, between its making and its locking.
TEST(AtomicFile, IsMadeAgainIfSomebodyCleanedItAway) {
  const TempDir dir;
  int left = 3;
  const auto clean = [&](std::string_view call) {
    if (call == "flock" && left > 0) {
      --left;
      fs::remove(dir.file(".x.tenon-tmp0"));
    }
    return 0;
  };
  FaultyFileSystem system(clean);
  save(dir.file("x"), "text", system);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(TempDir::read(dir.file("x")), "text");
  EXPECT_THAT(names_in(dir.file("")), ElementsAre("x"));
}

TEST(AtomicFile, ManyMayWriteOneFileAtOnce) {
  const TempDir dir;
  const std::string path = dir.file("x");
  const auto text = [](int writer) { return std::string(5000, static_cast<char>('a' + writer)); };
  std::atomic<int> torn = 0;
  std::vector<std::string> errors(6);
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < 6; ++writer) {
      writers.emplace_back([&, writer] {
        try {
          for (int i = 0; i < 100; ++i) {
            save(path, text(writer), FileSystem::system(), false);
            const std::string now = TempDir::read(path);
            if (now.size() != 5000 || now != std::string(5000, now[0])) ++torn;
          }
        } catch (const Error& error) {
          errors[static_cast<std::size_t>(writer)] = error.what();
        }
      });
    }
  }
  EXPECT_EQ(torn, 0);
  EXPECT_THAT(errors, testing::Each(""));
  EXPECT_THAT(names_in(dir.file("")), ElementsAre("x"));
}

TEST(AtomicFile, AFullDiskIsAnErrorBeforeAnythingIsWritten) {
  const TempDir dir;
  FaultyFileSystem system(always("fallocate", ENOSPC));
  EXPECT_EQ(io_error([&] { save(dir.file("x"), "text", system); }, "cannot reserve 4 bytes"),
            ENOSPC);
  EXPECT_THAT(system.calls, testing::Not(testing::Contains("pwrite")));
  EXPECT_THAT(names_in(dir.file("")), IsEmpty());
  AtomicFile file(FileSystem::system(), dir.file("x"), true);
  EXPECT_EQ(io_error([&] { file.reserve(~std::uint64_t{0}); }), EFBIG);
}

TEST(AtomicFile, FileSystemsThatCannotReserveAreLeftAlone) {
  const TempDir dir;
  for (const int error : {EOPNOTSUPP, ENOSYS, EINVAL}) {
    FaultyFileSystem system(always("fallocate", error));
    save(dir.file("x"), "text", system);
    EXPECT_EQ(TempDir::read(dir.file("x")), "text");
  }
}

TEST(AtomicFile, AFailedSyncIsNotTriedAgain) {
  const TempDir dir;
  const std::string path = dir.write("x", "old");
  for (const int error : {EIO, EINTR}) {
    FaultyFileSystem system(always("fsync", error));
    AtomicFile file(system, path, true);
    file.write_at(0, bytes_of("new"));
    EXPECT_EQ(io_error([&] { file.commit(); }, "cannot bring it to the disk"), error);
    EXPECT_THROW(file.commit(), InternalError);
    EXPECT_THROW(file.publish(), InternalError);
    EXPECT_EQ(std::count(system.calls.begin(), system.calls.end(), "fsync"), 1);
  }
  EXPECT_EQ(TempDir::read(path), "old");
  EXPECT_THAT(names_in(dir.file("")), ElementsAre("x"));
}

TEST(AtomicFile, AFolderThatCannotBeSyncedIsAnErrorThatSaysTheFileIsThere) {
  const TempDir dir;
  const std::string path = dir.write("x", "old");
  int syncs = 0, error = EIO;
  const auto second = [&](std::string_view call) {
    return call == "fsync" && ++syncs == 2 ? error : 0;
  };
  FaultyFileSystem system(second);
  EXPECT_EQ(io_error([&] { save(path, "new", system); }, "is there, whole", "does not confirm"),
            EIO);
  EXPECT_EQ(TempDir::read(path), "new");
  syncs = 0;
  error = EINVAL;  // a file system whose folders need none
  save(path, "newer", system);
  EXPECT_THAT(names_in(dir.file("")), ElementsAre("x"));
}

TEST(AtomicFile, AMessageNamesTheFileAndTheStep) {
  const TempDir dir;
  const std::string path = dir.write("x", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  const std::vector<std::pair<std::string, std::string>> steps{
      {"stat", "cannot look at it"},
      {"open", "cannot create the temporary file beside it"},
      {"flock", "cannot lock the temporary file beside it"},
      {"fchmod", "cannot give the new file the mode of the old one"},
      {"fallocate", "cannot reserve 3 bytes"},
      {"pwrite", "cannot write at byte 1"},
      {"fsync", "cannot bring it to the disk (fsync)"},
      {"rename", "cannot replace it with the new file (rename)"}};
  for (const auto& [call, message] : steps) {
    FaultyFileSystem system(always(call, EIO));
    EXPECT_EQ(io_error([&] { save(path, "new", system); },
                       path + ": " + message + ": Input/output error"),
              EIO);
  }
  FaultyFileSystem system(always("close", EDQUOT));
  EXPECT_EQ(io_error([&] { save(path, "new", system, false); }, "cannot finish writing (close)"),
            EDQUOT);
  EXPECT_EQ(TempDir::read(path), "old");
  EXPECT_THAT(names_in(dir.file("")), ElementsAre("x"));
}

TEST(AtomicFile, WhoeverHasTheOldFileMappedKeepsItsBytes) {
  const TempDir dir;
  const std::string old(10'000, 'o');
  const std::string path = dir.write("x", old);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  void* const mapped = ::mmap(nullptr, old.size(), PROT_READ, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  ASSERT_NE(mapped, MAP_FAILED);
  save(path, "new");
  EXPECT_EQ(std::memcmp(mapped, old.data(), old.size()), 0);
  ::munmap(mapped, old.size());
  EXPECT_EQ(TempDir::read(path), "new");
}

// The sweep: every call of a save over an existing file fails, one after the other.
struct Sweep {
  int error;
  bool from_there_on = false;
  bool durable = true;
  bool leftovers = false;  // other writers were killed before
};

const std::string kOld = "the old file", kNew = "the new one, which is longer";

// Each k-th call. True if there was one.
bool save_with_a_fault(const Sweep& sweep, int k, const TempDir& dir) {
  SCOPED_TRACE("call " + std::to_string(k) + ", " + std::strerror(sweep.error));
  const std::string path = dir.write("x", kOld);
  EXPECT_EQ(::chmod(path.c_str(), 0640), 0);
  if (::geteuid() == 0) {
    EXPECT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  }
  if (sweep.leftovers)
    for (const char* slot : {".x.tenon-tmp0", ".x.tenon-tmp3"}) dir.write(slot, "?");
  const std::size_t descriptors = open_descriptors();

  int call_number = 0;
  std::string failed;  // the first call that did
  bool unlink_failed = false;
  FaultyFileSystem system([&](std::string_view call) {
    ++call_number;
    if (sweep.from_there_on ? call_number < k : call_number != k) return 0;
    if (failed.empty()) failed = call;
    unlink_failed = unlink_failed || call == "unlink";
    return sweep.error;
  });
  bool threw = false;
  try {
    save(path, kNew, system, sweep.durable);
  } catch (const IoError& error) {
    threw = true;
    EXPECT_EQ(error.file(), path);
    EXPECT_EQ(error.error_number(), sweep.error) << error.what();
    EXPECT_FALSE(failed.empty()) << error.what();
  }
  EXPECT_EQ(TempDir::read(path), system.renamed ? kNew : kOld) << failed;
  EXPECT_TRUE(threw || system.renamed) << failed;
  EXPECT_EQ(mode_of(path), 0640u) << failed;
  EXPECT_EQ(open_descriptors(), descriptors) << failed;
  if (!unlink_failed && !sweep.leftovers) {
    EXPECT_THAT(names_in(dir.file("")), ElementsAre("x")) << failed;
  }
  if (sweep.error == EINTR) {
    EXPECT_EQ(threw, failed == "fsync" || (failed == "close" && !system.renamed)) << failed;
  }

  // Whatever was left, the next one removes.
  save(path, "again");
  EXPECT_THAT(names_in(dir.file("")), ElementsAre("x")) << failed;
  return !failed.empty();
}

TEST(AtomicFile, AFailedWriteLeavesTheOldFileAndNoLitter) {
  const TempDir dir;
  for (const int error : {EIO, ENOSPC, EINTR}) {
    for (const int kinds : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const Sweep sweep{error, (kinds & 1) != 0, (kinds & 2) == 0, (kinds & 4) != 0};
      if (error == EINTR && sweep.from_there_on) continue;  // it would wait for the last signal
      int k = 1;
      while (save_with_a_fault(sweep, k, dir)) ++k;
      EXPECT_GT(k, 20);
    }
  }
}

TEST(AtomicFile, AWriteThatIsCutGoesOn) {
  const TempDir dir;
  for (int k = 1; k < 12; ++k) {
    for (const bool from_there_on : {false, true}) {
      int writes = 0;
      FaultyFileSystem system([&](std::string_view call) {
        if (call != "pwrite") return 0;
        ++writes;
        return (from_there_on ? writes >= k : writes == k) ? EIO : 0;
      });
      system.cut_writes = true;
      save(dir.file("x"), kNew, system);
      EXPECT_EQ(TempDir::read(dir.file("x")), kNew);
      EXPECT_GE(writes, from_there_on && k == 1 ? 8 : 2);
    }
  }
}

}  // namespace
}  // namespace tenon
