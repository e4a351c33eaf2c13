// How trees become archives: one, or several with parts of a dict each.
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "core/uninitialized.h"
#include "core/value_text.h"
#include "io/formats/table.h"
#include "io/read/tree_map.h"
#include "io/write/archive_plan.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"

namespace tenon {

namespace {

FilePlan plan_of(const Value& tree, const Saving& saving, const std::string& path) {
  const std::string archive = archive_name(path);
  return plan_archive(archive, pickled(tree, saving.supply, saving.meter), saving.meter);
}

FilePlan plan(const Value& tree, const Saving& saving, const std::string& path,
              const SaveOptions& /*options*/, SaveReport& /*report*/) {
  return plan_of(tree, saving, path);
}

ShardsPlan plan_shards(const Value& tree, const Saving& saving, const SaveOptions& options) {
  if (tree.kind() != Value::Kind::dict)
    throw ValueError("save: only a dict of tensors can be written as several .bin files");
  if (tree.entries().empty()) no_tensors_to_shard();
  // Tensors that share a storage stay together.
  struct Group {
    std::vector<Value::Entry> entries;
    std::uint64_t bytes = 0, tensors = 0;
  };
  std::vector<Group> groups;
  std::unordered_map<const void*, std::size_t> by_storage;
  auto& [supply, meter, memory] = saving;
  // A group and two entries for each, its name, and what it is found by.
  meter.memory(tree.entries().size() *
               (sizeof(Group) + 2 * sizeof(Value::Entry) + 4 * ReadMeter::kObject));
  for (const auto& [key, item] : tree.entries()) {
    const bool open = item.is_tensor() && is_uninitialized(item.as_tensor().body());
    if (key.kind() != Value::Kind::string || !item.is_tensor() ||
        (item.as_tensor().body().is_wrapper() && !open)) {
      throw ValueError(
          concat("save: only a dict of tensors can be written as several .bin files, "
                 "and under ",
                 short_repr(key), " is ", item.type_name()));
    }
    const Tensor tensor = item.as_tensor();
    const auto [place, fresh] =
        by_storage.try_emplace(open ? item.identity() : tensor.storage().identity(), groups.size());
    if (fresh) groups.emplace_back();
    Group& group = groups[place->second];
    group.entries.emplace_back(key, item);
    if (open) continue;
    if (fresh && supply.has_bytes(tensor)) group.bytes = supply.storage(tensor)->size();
    group.tensors += static_cast<std::uint64_t>(tensor.numel() * tensor.layout().itemsize());
  }
  ShardsPlan out;
  for (std::size_t first = 0; first < groups.size();) {
    PlannedShard shard;
    std::vector<Value::Entry> entries;
    std::uint64_t bytes = 0;
    const std::size_t begin = first;
    for (; first < groups.size(); ++first) {
      if (first != begin && bytes + groups[first].bytes > options.shard_size) break;
      bytes += groups[first].bytes;
      out.tensors += groups[first].tensors;
      for (Value::Entry& entry : groups[first].entries) {
        meter.text(entry.first.as_string().size());
        shard.names.push_back(entry.first.as_string());
        entries.push_back(std::move(entry));
      }
    }
    out.payload += bytes;
    // What is noted about modules is in the first.
    const Value attributes = out.shards.empty() ? tree.attributes() : Value();
    const Value part = dict_like(tree, std::move(entries), attributes);
    meter.memory(sizeof(PlannedShard) + 4 * ReadMeter::kObject);
    shard.plan = [part, &saving](const std::string& name) { return plan_of(part, saving, name); };
    out.shards.push_back(std::move(shard));
  }
  return out;
}

}  // namespace

constinit const FormatWriter kPthWriter{.keeps_shared = true,
                                        .plan = plan,
                                        .plan_shards = plan_shards,
                                        .shards = {"pytorch_model", ".bin"}};

}  // namespace tenon
