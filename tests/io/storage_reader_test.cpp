#include "io/read/storage_reader.h"

#include <cstring>
#include <random>

#include "io/read/source.h"
#include "io/zip/compression.h"
#include "support/matchers.h"
#include "tenon/error.h"

namespace tenon {
namespace {

std::vector<std::byte> noise(std::size_t n) {
  std::vector<std::byte> bytes(n);
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i + 8 <= n; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, 8);
  }
  return bytes;
}

struct Place {
  std::uint64_t offset, nbytes;
};

// Storages at these places of a file in memory, with their checksums.
class Files {
 public:
  Files(std::vector<std::byte> bytes, const std::vector<Place>& places)
      : bytes_(std::move(bytes)), source_(open_memory(bytes_, "memory")) {
    for (const Place& place : places) {
      StorageRecord record;
      record.source = source_.get();
      record.key = "x";
      record.offset = place.offset;
      record.nbytes = record.stored = place.nbytes;
      record.has_crc = true;
      record.crc = crc32(std::span(bytes_).subspan(place.offset, place.nbytes));
      into_.emplace_back(place.nbytes);
      reads.push_back({record, into_.back().data()});
    }
  }
  void damage(std::size_t at) { bytes_[at] ^= std::byte{1}; }
  void expect_read() const {
    for (std::size_t i = 0; i < reads.size(); ++i) {
      const auto& record = reads[i].record;
      if (record.nbytes == 0) continue;
      EXPECT_EQ(std::memcmp(into_[i].data(), bytes_.data() + record.offset, into_[i].size()), 0)
          << i;
    }
  }
  std::vector<StorageRead> reads;

 private:
  std::vector<std::byte> bytes_;
  std::shared_ptr<Source> source_;
  std::vector<std::vector<std::byte>> into_;
};

constexpr std::uint64_t kLarge = (20 << 20) + 5;  // several parts, the last of them odd
Files some_files() {
  std::vector<Place> places{{3000, kLarge}, {0, 0}, {3000 + kLarge + 10, 100'000}};
  for (std::uint64_t i = 0; i < 300; ++i) places.push_back({4 * i, i % 7});  // small ones
  places.push_back({3000 + kLarge + 200'000, 20});
  return {noise(24 << 20), places};
}

TEST(StorageReader, ReadsLargeOnesInPartsAndSmallOnesTogether) {
  const Files files = some_files();
  read_storages(files.reads, true, {});
  files.expect_read();
}

TEST(StorageReader, FindsABitThatIsWrongAnywhere) {
  for (const std::size_t at :
       {std::size_t{3000}, std::size_t{3000 + (8 << 20)}, std::size_t{3000 + kLarge - 1},
        std::size_t{3000 + kLarge + 50'000}, std::size_t{13}}) {
    Files files = some_files();
    files.damage(at);
    expect_error<ChecksumError>([&] { read_storages(files.reads, true, {}); }, "checksum");
    EXPECT_NO_THROW(read_storages(files.reads, false, {})) << at;
  }
}

TEST(StorageReader, TheChecksumsOfPartsTogetherAreThatOfTheWhole) {
  const std::vector<std::byte> bytes = noise(100'000);
  const std::span<const std::byte> all(bytes);
  for (const std::size_t cut : {0u, 1u, 7u, 4096u, 99'999u, 100'000u}) {
    EXPECT_EQ(crc32_joined(crc32(all.first(cut)), crc32(all.subspan(cut)), all.size() - cut),
              crc32(all))
        << cut;
  }
}

TEST(StorageReader, TellsHowFarItIsAndAtLastThatAllIsDone) {
  const Files files = some_files();
  std::uint64_t last = 0, all = 0, calls = 0;
  Watch watch;
  watch.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, total);
    last = done;
    all = total;
    ++calls;
  };
  read_storages(files.reads, true, watch);
  EXPECT_EQ(last, all);
  EXPECT_GT(all, kLarge);
  EXPECT_GT(calls, 1u);
}

TEST(StorageReader, EndsWhenItIsAskedTo) {
  const Files files = some_files();
  std::stop_source stop;
  Watch watch;
  watch.stop = stop.get_token();
  watch.progress = [&](std::uint64_t, std::uint64_t) { stop.request_stop(); };
  EXPECT_THROW(read_storages(files.reads, true, watch), CancelledError);
  watch.stop = {};
  watch.progress = [](std::uint64_t, std::uint64_t) { throw ValueError("enough"); };
  EXPECT_THROW(read_storages(files.reads, true, watch), ValueError);
}

TEST(StorageReader, TurnsTheOtherByteOrderAround) {
  std::vector<std::byte> bytes{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  swap_bytes(bytes, float32);
  EXPECT_EQ(bytes[0], std::byte{4});
  swap_bytes(bytes, complex32);  // each part of its own
  EXPECT_EQ(bytes[0], std::byte{3});
  EXPECT_EQ(bytes[3], std::byte{2});
  const auto before = bytes;
  swap_bytes(bytes, bool_);
  EXPECT_EQ(bytes, before);
}

}  // namespace
}  // namespace tenon
