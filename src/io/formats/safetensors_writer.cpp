// How trees become safetensors files: one, or several with parts of the tensors each.
#include <memory>
#include <utility>

#include "io/formats/safetensors_plan.h"
#include "io/formats/table.h"
#include "tenon/error.h"

namespace tenon {

namespace {

FilePlan plan(const Value& tree, const Saving& saving, const std::string& /*path*/,
              const SaveOptions& options, SaveReport& report) {
  SafetensorsPlan plan(tree, saving.supply, options.strict, saving.meter);
  report.notes = plan.notes();
  return plan.file(0, plan.tensors().size());
}

ShardsPlan plan_shards(const Value& tree, const Saving& saving, const SaveOptions& options) {
  const auto plan =
      std::make_shared<SafetensorsPlan>(tree, saving.supply, options.strict, saving.meter);
  if (!plan->is_flat())
    throw ValueError("save: only a dict of tensors can be written as several files");
  ShardsPlan out;
  out.notes = plan->notes();
  const auto& tensors = plan->tensors();
  if (tensors.empty()) no_tensors_to_shard();
  for (std::size_t first = 0; first < tensors.size();) {
    PlannedShard shard;
    std::size_t n = 0;
    std::uint64_t bytes = 0;
    for (; first + n < tensors.size(); ++n) {
      const std::uint64_t own = plan->size_of(tensors[first + n]);
      if (n != 0 && bytes + own > options.shard_size) break;
      bytes += own;
      saving.meter.text(tensors[first + n].name.size() + sizeof(std::string));
      shard.names.push_back(tensors[first + n].name);
    }
    saving.meter.memory(sizeof(PlannedShard) + 2 * ReadMeter::kObject);
    shard.plan = [plan, first, n](const std::string&) { return plan->file(first, n); };
    out.shards.push_back(std::move(shard));
    out.tensors += bytes;
    first += n;
  }
  out.payload = out.tensors;
  return out;
}

}  // namespace

constinit const FormatWriter kSafetensorsWriter{
    .plan = plan, .plan_shards = plan_shards, .shards = {"model", ".safetensors"}};

}  // namespace tenon
