// Deflated storages that are read in turn: how many are kept, and how often a file may make us
// inflate them again.
#include "io/read/inflated_slot.h"

#include "deflated.h"
#include "io/zip/compression.h"
#include "support/matchers.h"

namespace tenon {
namespace {

constexpr std::uint64_t kMega = std::uint64_t{1} << 20;

// Storages of such sizes, one behind the other in a file.
class Deflated {
 public:
  explicit Deflated(const std::vector<std::uint64_t>& sizes) {
    std::string file;
    for (const std::uint64_t size : sizes) {
      const std::string bytes(size, static_cast<char>('a' + records.size()));
      const std::string packed = deflated(bytes);
      StorageRecord& record = records.emplace_back();
      record.key = "x";
      record.nbytes = size;
      record.offset = file.size();
      record.stored = packed.size();
      record.crc = crc32(std::as_bytes(std::span(bytes)));
      record.deflated = record.has_crc = true;
      file += packed;
    }
    file_ = file;
    source_ = open_memory(std::as_bytes(std::span(file_)), "a file");
    for (StorageRecord& record : records) record.source = source_.get();
  }
  std::uint64_t size() const { return source_->size(); }

  std::vector<StorageRecord> records;

 private:
  std::string file_;
  std::shared_ptr<Source> source_;
};

// Whether the slot has a storage still, and not only we.
bool is_kept(const Storage& storage) { return storage.use_count() > 1; }

TEST(InflatedSlot, KeepsNoMoreThan64MegabytesThoseThatWereUsedLast) {
  const Deflated file({20 * kMega, 20 * kMega, 20 * kMega, 20 * kMega, 70 * kMega, 1000});
  InflatedSlot slot;
  std::vector<Storage> had;
  for (std::size_t i = 0; i < 3; ++i) had.push_back(slot.get(file.records[i]));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(is_kept(had[i])) << i;
    EXPECT_EQ(had[i].nbytes(), 20 * kMega);
    EXPECT_EQ(static_cast<const char*>(had[i].data())[20 * kMega - 1], static_cast<char>('a' + i));
  }
  EXPECT_EQ(slot.get(file.records[0]).identity(), had[0].identity());
  had.push_back(slot.get(file.records[3]));
  EXPECT_TRUE(is_kept(had[0]));
  EXPECT_FALSE(is_kept(had[1]));
  EXPECT_TRUE(is_kept(had[2]));
  EXPECT_TRUE(is_kept(had[3]));
  EXPECT_NE(slot.get(file.records[1]).identity(), had[1].identity());
  EXPECT_FALSE(is_kept(had[2]));
  // One that is larger is there alone, until there is another.
  const Storage large = slot.get(file.records[4]);
  EXPECT_TRUE(is_kept(large));
  for (const Storage& before : had) EXPECT_FALSE(is_kept(before));
  const Storage small = slot.get(file.records[5]);
  EXPECT_FALSE(is_kept(large));
  EXPECT_TRUE(is_kept(small));
}

TEST(InflatedSlot, ASmallStorageThatIsUsedInBetweenStays) {
  const Deflated file({40 * kMega, 40 * kMega, 1000});
  InflatedSlot slot;
  const Storage small = slot.get(file.records[2]);
  for (std::size_t i = 0; i < 6; ++i) {
    const Storage large = slot.get(file.records[i % 2]);
    EXPECT_EQ(slot.get(file.records[2]).identity(), small.identity()) << i;
    EXPECT_TRUE(is_kept(large));
  }
}

// How many of so many readings in turn were done before one was refused.
std::size_t readings(const Deflated& file, InflatedSlot::Pass pass, std::size_t most) {
  InflatedSlot slot;
  for (std::size_t i = 0; i < most; ++i) {
    try {
      slot.get(file.records[i % 2], pass);
    } catch (const FormatError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("as tensors of several are read in turn"));
      EXPECT_EQ(error.file(), "a file");
      return i;
    }
  }
  return most;
}

TEST(InflatedSlot, InOnePassLargeStoragesInTurnAreRefusedAtLast) {
  const Deflated file({40 * kMega, 40 * kMega});
  // Each once, and what is free.
  const std::uint64_t again = 256 * kMega + 64 * file.size();
  const std::size_t expected = 2 + again / (40 * kMega);
  EXPECT_EQ(expected, 8u);
  EXPECT_EQ(readings(file, InflatedSlot::Pass::first, 20), expected);
  EXPECT_EQ(readings(file, InflatedSlot::Pass::again, 20), 20u);
}

TEST(InflatedSlot, InOnePassOneStorageBehindTheOtherIsFree) {
  const Deflated file({40 * kMega, 40 * kMega});
  InflatedSlot slot;
  for (std::size_t i = 0; i < 200; ++i) EXPECT_NO_THROW(slot.get(file.records[i / 100])) << i;
}

}  // namespace
}  // namespace tenon
