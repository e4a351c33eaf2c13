#include "io/read/beneath.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "io/files.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/checkpoint.h"
#include "tenon/error.h"
#include "tenon/save.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

int open_in(const Beneath& folder, const std::string& name) {
  std::uint64_t parts = 0;
  return folder.open(name, parts);
}

// What is in the file, or the error.
std::string opened(const Beneath& folder, const std::string& name) {
  const int descriptor = open_in(folder, name);
  if (descriptor < 0) return std::generic_category().message(errno);
  char text[100];
  const ssize_t n = ::read(descriptor, text, sizeof text);
  ::close(descriptor);
  return {text, static_cast<std::size_t>(n > 0 ? n : 0)};
}

const std::string kOut = std::generic_category().message(EXDEV);

class BeneathTest : public testing::Test {
 protected:
  BeneathTest() {
    fs::create_directories(dir.file("in/sub/deeper"));
    fs::create_directories(dir.file("out"));
    dir.write("in/a", "a");
    dir.write("in/sub/b", "b");
    dir.write("in/sub/deeper/c", "c");
    dir.write("out/secret", "secret");
  }
  void link(const std::string& to, const std::string& name) const {
    fs::create_symlink(to, dir.file(name));
  }
  const TempDir dir;
};

TEST_F(BeneathTest, NamesOfThousandsOfPartsAreNotWalked) {
  std::string there;
  for (int i = 0; i < 550; ++i) there += "sub/../";
  link(there + "a", "in/long");
  link("sub/../a", "in/short");
  const Beneath folder(dir.file("in"));
  EXPECT_EQ(opened(folder, "short"), "a");
  EXPECT_EQ(opened(folder, "long"), std::generic_category().message(ELOOP));
  std::uint64_t parts = 0;
  ::close(folder.open("short", parts));
  EXPECT_EQ(parts, 4u);
}

// Also if they are not walked to, as what comes first is another link.
TEST_F(BeneathTest, PartsOfLinksCountWhenTheyAreTakenApart) {
  std::string rest;
  for (int i = 0; i < 100; ++i) rest += "/deeper/..";
  for (int i = 0; i < 10; ++i) link("l" + std::to_string(i + 1) + rest, "in/l" + std::to_string(i));
  const Beneath folder(dir.file("in"));
  std::uint64_t parts = 0;
  for (const bool anywhere : {false, true}) {
    EXPECT_EQ(anywhere ? folder.open_anywhere("l0", parts) : folder.open("l0", parts), -1);
    EXPECT_EQ(errno, ELOOP);
    EXPECT_EQ(parts, 1 + 3 * 201u);
  }
}

TEST_F(BeneathTest, LinksAreFollowedAnywhereWithinTheSameParts) {
  const std::string whole = fs::canonical(dir.file("out")).string();
  link("../out", "in/folder");
  link(whole + "/secret", "in/whole");
  link("whole", "in/chain");
  link("/", "in/root");
  link(whole.substr(1) + "/secret", "in/rest");
  std::string there;
  for (int i = 0; i < 550; ++i) there += "sub/../";
  link(there + "a", "in/long");
  const Beneath folder(dir.file("in"));
  const auto opens = [&](const std::string& name) {
    std::uint64_t parts = 0;
    const int descriptor = folder.open_anywhere(name, parts);
    if (descriptor < 0) return std::generic_category().message(errno);
    ::close(descriptor);
    EXPECT_GE(parts, 1u);
    return std::string("opened");
  };
  const std::size_t before = names_in("/proc/self/fd").size();
  for (const std::string& name :
       {"a"s, "folder/secret"s, "whole"s, "chain"s, "root" + whole + "/secret"s})
    EXPECT_EQ(opens(name), "opened") << name;
  EXPECT_EQ(opens("root"), std::generic_category().message(EISDIR));
  EXPECT_EQ(opens("rest"), std::generic_category().message(ENOENT));
  EXPECT_EQ(opens("long"), std::generic_category().message(ELOOP));
  EXPECT_EQ(names_in("/proc/self/fd").size(), before);
}

TEST_F(BeneathTest, FilesAndLinksThatStayInsideAreOpened) {
  link("sub/b", "in/link");
  link("../sub/../a", "in/sub/up");
  link("sub/deeper", "in/folder");
  link(fs::canonical(dir.file("in")).string() + "/sub/b", "in/whole");
  link("link", "in/chain");
  const std::size_t before = names_in("/proc/self/fd").size();
  {
    const Beneath folder(dir.file("in"));
    EXPECT_EQ(folder.path(), fs::canonical(dir.file("in")).string());
    EXPECT_EQ(opened(folder, "a"), "a");
    EXPECT_EQ(opened(folder, "sub/deeper/c"), "c");
    EXPECT_EQ(opened(folder, "link"), "b");
    EXPECT_EQ(opened(folder, "chain"), "b");
    EXPECT_EQ(opened(folder, "sub/up"), "a");
    EXPECT_EQ(opened(folder, "folder/c"), "c");
    EXPECT_EQ(opened(folder, "folder/../b"), "b");
    EXPECT_EQ(opened(folder, "whole"), "b");
  }
  EXPECT_EQ(names_in("/proc/self/fd").size(), before);
}

TEST_F(BeneathTest, LinksThatLeadOutAreNot) {
  link("../out/secret", "in/file");
  link("../out", "in/folder");
  link(dir.file("out/secret"), "in/whole");
  link("/", "in/root");
  link("sub/../../out/secret", "in/around");
  link("file", "in/chain");
  const Beneath folder(dir.file("in"));
  for (const char* name : {"file", "folder/secret", "whole", "root/etc/passwd", "around", "chain",
                           "../out/secret", "sub/../../out/secret"})
    EXPECT_EQ(opened(folder, name), kOut) << name;
  std::uint64_t parts = 0;
  const int descriptor = folder.open_anywhere("file", parts);
  EXPECT_GE(descriptor, 0);
  ::close(descriptor);
}

TEST_F(BeneathTest, WhatIsNotThereOrIsNoFileSaysSo) {
  link("loop", "in/loop");
  link("none", "in/dangling");
  const Beneath folder(dir.file("in"));
  EXPECT_EQ(open_in(folder, "none"), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(open_in(folder, "none/x"), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(open_in(folder, "dangling"), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(open_in(folder, "a/x"), -1);
  EXPECT_EQ(errno, ENOTDIR);
  EXPECT_EQ(open_in(folder, "loop"), -1);
  EXPECT_EQ(errno, ELOOP);
  expect_error<IoError>([&] { Beneath(dir.file("none")); }, "cannot open the folder");
}

// What somebody does between looking and opening: the folder in the middle becomes a link.
TEST_F(BeneathTest, AFolderThatBecomesALinkLeadsNowhere) {
  const Beneath folder(dir.file("in"));
  fs::rename(dir.file("in/sub"), dir.file("moved"));
  dir.write("out/b", "of another");
  link("../out", "in/sub");
  EXPECT_EQ(opened(folder, "sub/b"), kOut);
  // And the folder itself: ours is the one that was opened.
  fs::rename(dir.file("in"), dir.file("elsewhere"));
  link("out", "in");
  EXPECT_EQ(opened(folder, "a"), "a");
  EXPECT_EQ(opened(folder, "secret"), std::generic_category().message(ENOENT));
}

TEST_F(BeneathTest, LinksMayLeadIntoFoldersThatAreAllowed) {
  link("../out/secret", "in/file");
  link("../out/more", "in/again");
  link("secret", "out/more");
  link("../moved/x", "out/further");
  link("../out/further", "in/further");
  Beneath folder(dir.file("in"));
  folder.allow("../none");
  folder.allow("../out");
  EXPECT_EQ(opened(folder, "file"), "secret");
  EXPECT_EQ(opened(folder, "again"), "secret");
  EXPECT_EQ(opened(folder, "further"), kOut);
  // An allowed folder that is a link is none.
  fs::create_directory(dir.file("third"));
  dir.write("third/x", "x");
  link("third", "alias");
  link("../third/x", "in/third");
  folder.allow("../alias");
  EXPECT_EQ(opened(folder, "third"), kOut);
}

// Hugging Face's cache: models/snapshots/REVISION/NAME leads to models/blobs/HASH.
TEST(Index, ShardsAreReadThroughTheLinksOfTheCacheAndNoOthers) {
  const TempDir dir;
  fs::create_directories(dir.file("models/blobs"));
  fs::create_directories(dir.file("models/snapshots/rev"));
  const Value state = Value::dict({{"a", full({100}, 1)}, {"b", full({100}, 2)}});
  save(state, dir.file("plain"), {.format = FileFormat::safetensors, .shard_size = 400});
  int number = 0;
  for (const std::string& name : names_in(dir.file("plain"))) {
    const std::string blob = std::to_string(number++);
    fs::copy_file(dir.file("plain/" + name), dir.file("models/blobs/" + blob));
    fs::create_symlink("../../blobs/" + blob, dir.file("models/snapshots/rev/" + name));
  }
  EXPECT_EQ(load(dir.file("models/snapshots/rev")).entries().size(), 2u);
  // The same links elsewhere lead out of their folder.
  fs::rename(dir.file("models/snapshots"), dir.file("models/others"));
  expect_error<FormatError>([&] { load(dir.file("models/others/rev")); }, "link out of its folder",
                            "follow_links");
  EXPECT_EQ(load(dir.file("models/others/rev"), {.follow_links = true}).entries().size(), 2u);
}

}  // namespace
}  // namespace tenon
