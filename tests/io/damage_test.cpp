// Files that are cut short or have a bit changed are refused, or give what they gave before.

#include "io/files.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/checkpoint.h"

namespace tenon {
namespace {

Value load(const std::string& bytes) {
  return Checkpoint::open(std::as_bytes(std::span(bytes))).load();
}

bool same(const Value& a, const Value& b) {
  if (a.entries().size() != b.entries().size()) return false;
  for (std::size_t i = 0; i < a.entries().size(); ++i) {
    if (!(a.entries()[i].first == b.entries()[i].first)) return false;
    if (!equal(a.entries()[i].second.as_tensor(), b.entries()[i].second.as_tensor())) return false;
  }
  return true;
}

TEST(Damage, EveryTruncationIsRefused) {
  for (const char* name :
       {"torch-2.14.1/linear_sd.pth", "torch-2.11/shard-00002-of-00002.safetensors",
        "torch-2.14.1/deflated.pth"}) {
    const std::string whole = TempDir::read(fixture(name));
    ASSERT_GT(whole.size(), 100u);
    for (std::size_t n = 0; n < whole.size(); ++n)
      EXPECT_THROW(load(whole.substr(0, n)), FormatError) << name << " " << n;
    EXPECT_THROW(load(whole + "x"), FormatError) << name;
  }
}

TEST(Damage, NoChangedBitOfAnArchiveChangesATensor) {
  const std::string whole = TempDir::read(fixture("torch-2.14.1/linear_sd.pth"));
  const Value known = load(whole);
  int accepted = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    try {
      const Value state = load(changed);
      EXPECT_TRUE(same(state, known)) << "bit " << bit;
      ++accepted;
    } catch (const FormatError&) {
    }
  }
  EXPECT_LT(accepted, static_cast<int>(whole.size()) * 3);  // times and padding, which say nothing
}

}  // namespace
}  // namespace tenon
