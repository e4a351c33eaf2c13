#include "tenon/save.h"

#include <algorithm>

#include "base/text.h"
#include "io/formats/table.h"
#include "io/read/flattened.h"
#include "io/read/tree_map.h"
#include "io/write/compact.h"
#include "io/write/outputs.h"
#include "io/write/saver.h"
#include "io/write/shards.h"
#include "tenon/error.h"

namespace tenon {

const Format& format_of(const std::string& path, const SaveOptions& options) {
  if (options.format) return *format_named(options.format->name());
  if (options.shard_size != 0) return kUsualShards;
  const auto by_name = FileFormat::of_path(path);
  return by_name ? *format_named(by_name->name()) : kUsualFormat;
}

ReadMeter meter_of_saving(const Value& value, const Format& format) {
  return format.writer->keeps_shared ? ReadMeter::of_saving()
                                     : ReadMeter::of_saving(count_values(value));
}

namespace {

void write(const FilePlan& plan, const Output& output, const Watch& watch) {
  Meter meter(watch, payload_bytes(plan), kSavingStopped);
  write_file(plan, output, meter);
  meter.finish();
  meter.stop_if_asked();
}

// Over the parts of storages that are used, if that is asked for.
Value tree_of(const Value& value, Overlay& overlay, const SaveOptions& options, ReadMeter& meter) {
  return options.compact ? compacted(with_flattened(value, meter), overlay, meter) : value;
}

}  // namespace

void begin_saving(const Watch& watch, std::uint64_t total) {
  if (watch.progress) watch.progress(0, total);
  if (watch.stop.stop_requested()) throw CancelledError(kSavingStopped);
}

void check_memory(const FilePlan& plan, std::uint64_t memory) {
  std::uint64_t largest = 0;
  for (const PlannedRecord& record : plan.records) {
    if (!record.payload->divisible() && record.payload->memory() == nullptr)
      largest = std::max(largest, record.payload->streamed());
  }
  if (largest <= memory) return;
  throw ValueError(concat("a tensor that cannot be read in parts, as it is deflated or has gaps, ",
                          "needs ", largest, " bytes of memory, and ", memory,
                          " may be used: allow more"));
}

SaveReport save_with(FileSystem& system, const Saving& from, const Value& value,
                     const std::string& path, const SaveOptions& options) {
  Overlay overlay(from.supply);
  const Saving saving{overlay, from.meter, from.memory};
  const Value tree = tree_of(value, overlay, options, saving.meter);
  const Format& format = format_of(path, options);
  if (options.shard_size != 0) return save_shards(system, saving, tree, format, path, options);
  SaveReport report;
  const FilePlan plan = format.writer->plan(tree, saving, path, options, report);
  report.files.push_back(path);
  report.bytes = plan.size;
  check_memory(plan, saving.memory);
  if (options.dry_run) return report;
  begin_saving(options.watch, payload_bytes(plan));
  AtomicFile file(system, path, options.durable, options.replace);
  if (options.durable) file.reserve(plan.size);
  write(plan, AtomicOutput(file), options.watch);
  overlay.check_unchanged();
  file.commit();
  return report;
}

SaveReport save(const Value& value, const std::string& path, const SaveOptions& options) {
  // Whoever is told of progress may destroy what the call was given.
  const Value held = value;
  const std::string to = path;
  const SaveOptions how = options;
  MemorySupply supply;
  ReadMeter meter = meter_of_saving(held, format_of(to, how));
  return save_with(FileSystem::system(), {supply, meter}, held, to, how);
}

namespace {

// Into something that has no name.
template <class Open, class Close>
SaveReport save_nameless(const Value& given, const SaveOptions& given_options, Open&& open,
                         Close&& close) {
  const Value value = given;  // as in save()
  const SaveOptions options = given_options;
  if (options.shard_size != 0)
    throw ValueError("save: several files need a folder: give a path with .shard_size");
  SaveReport report;
  MemorySupply supply;
  Overlay overlay(supply);
  const Format& format = format_of("", options);
  ReadMeter meter = meter_of_saving(value, format);
  const Value tree = tree_of(value, overlay, options, meter);
  const Saving saving{overlay, meter};
  const FilePlan plan = format.writer->plan(tree, saving, "archive", options, report);
  report.bytes = plan.size;
  if (options.dry_run) return report;
  const auto output = open(plan.size);
  write(plan, output, options.watch);
  close(output, plan.size);
  return report;
}

}  // namespace

SaveReport save(const Value& value, int descriptor, const SaveOptions& options) {
  const bool durable = options.durable;
  return save_nameless(
      value, options,
      [&](std::uint64_t) { return DescriptorOutput(FileSystem::system(), descriptor); },
      [&](const DescriptorOutput& output, std::uint64_t size) { output.finish(size, durable); });
}

std::vector<std::byte> save_to_memory(const Value& value, const SaveOptions& options) {
  std::vector<std::byte> bytes;
  save_nameless(
      value, options,
      [&](std::uint64_t size) {
        bytes.resize(static_cast<std::size_t>(size));
        return MemoryOutput(bytes);
      },
      [](const MemoryOutput&, std::uint64_t) {});
  return bytes;
}

}  // namespace tenon
