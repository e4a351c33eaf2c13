// One checkpoint read from several threads at once.
#include <thread>

#include "io/files.h"
#include "support/matchers.h"
#include "tenon/checkpoint.h"

namespace tenon {
namespace {

TEST(Checkpoint, MayBeReadFromSeveralThreads) {
  const std::string path = fixture("torch-2.14.1/seq_sd.pt");
  const Checkpoint file = Checkpoint::open(path);
  const Value known = file.load();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, mmap = t % 2 == 0] {
      for (int i = 0; i < 20; ++i) {
        const Value mine = file.load({.mmap = mmap});
        for (const auto& [key, value] : known.entries())
          EXPECT_TRUE(equal(value.as_tensor(), mine.find(key)->as_tensor()));
        file.verify();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Checkpoint, ItsTensorsMayBeReadFromSeveralThreads) {
  // Views, whose storages are compared once, and deflated storages, of which one is kept.
  for (const char* name : {"views.pt", "deflated.pth"}) {
    const Checkpoint file = Checkpoint::open(fixture(std::string("torch-2.14.1/") + name));
    const auto all = [&] {
      std::vector<std::vector<std::byte>> out(file.tensors().size());
      for (std::size_t i = 0; i < out.size(); ++i)
        file.read(i, [&](std::span<const std::byte> piece) {
          out[i].insert(out[i].end(), piece.begin(), piece.end());
        });
      return out;
    };
    std::vector<std::vector<std::vector<std::byte>>> seen(4);
    std::vector<std::thread> threads;
    for (auto& mine : seen) threads.emplace_back([&] { mine = all(); });
    for (std::thread& thread : threads) thread.join();
    for (const auto& mine : seen) EXPECT_EQ(mine, all()) << name;
  }
}

}  // namespace
}  // namespace tenon
