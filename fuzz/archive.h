// Zip archives with right checksums and records, for fuzzers whose subject is what is inside.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tenon {

struct ArchiveEntry {
  std::string name, content;
  bool deflated = false;  // in blocks that say their bytes as they are
};

std::string archive_of(const std::vector<ArchiveEntry>& entries);

}  // namespace tenon
