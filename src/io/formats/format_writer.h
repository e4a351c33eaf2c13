// How files of a format are written: the part of its row that only formats have that are written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/formats/shard_names.h"
#include "io/write/file_writer.h"
#include "io/write/saver.h"
#include "tenon/save.h"
#include "tenon/value.h"

namespace tenon {

// One file of several.
struct PlannedShard {
  // The file of that name. Called once, when it is its turn.
  std::function<FilePlan(const std::string& name)> plan;
  std::vector<std::string> names;  // of its tensors
};

struct ShardsPlan {
  std::vector<PlannedShard> shards;
  std::uint64_t payload = 0;  // bytes that are written, as work
  std::uint64_t tensors = 0;  // bytes of all tensors, as the index says them
  std::vector<std::string> notes;
};

struct FormatWriter {
  // Whether parts that a tree has several times are written once. If not, a small tree may become a
  // large file, and saving it is metered.
  bool keeps_shared = false;
  // Everything in one file. The last part of the path may be said in the file. Notes, what the
  // format cannot hold as it is, go into the report.
  FilePlan (*plan)(const Value& tree, const Saving& saving, const std::string& path,
                   const SaveOptions& options, SaveReport& report) = nullptr;
  // Several files of about options.shard_size bytes, at least one, and the names they get. Null:
  // the format is written as one file only. The tree outlives the plan. ValueError for anything but
  // a dict of tensors, at least one.
  ShardsPlan (*plan_shards)(const Value& tree, const Saving& saving,
                            const SaveOptions& options) = nullptr;
  ShardNames shards = {};
};

}  // namespace tenon
