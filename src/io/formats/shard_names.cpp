#include "io/formats/shard_names.h"

#include <cstdio>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

std::string ShardNames::index() const { return concat(stem, ending, ".index.json"); }

std::string ShardNames::shard(std::string_view tag, std::size_t i, std::size_t count) const {
  char numbers[64];
  std::snprintf(numbers, sizeof numbers, "-%05zu-of-%05zu", i + 1, count);
  return concat(stem, tag, numbers, ending);
}

bool ShardNames::is_shard(std::string_view name) const {
  if (!name.starts_with(stem) || !name.ends_with(ending)) return false;
  name.remove_prefix(stem.size());
  if (name.size() < ending.size()) return false;
  name.remove_suffix(ending.size());
  const auto digits = [&](std::size_t least) {
    std::size_t n = 0;
    while (n < name.size() && name[n] >= '0' && name[n] <= '9') ++n;
    name.remove_prefix(n);
    return n >= least;
  };
  const auto take = [&](std::string_view text) {
    if (!name.starts_with(text)) return false;
    name.remove_prefix(text.size());
    return true;
  };
  if (take("-v") && !digits(1)) return false;
  return take("-") && digits(5) && take("-of-") && digits(5) && name.empty();
}

void no_tensors_to_shard() {
  throw ValueError("save: an index names tensors, and there are none: write one file");
}

}  // namespace tenon
