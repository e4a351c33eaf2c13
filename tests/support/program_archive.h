// Checkpoints around pickle programs that no pickler would write.
#pragma once

#include <string>
#include <vector>

#include "io/support/meter.h"
#include "io/write/archive_plan.h"
#include "io/write/file_writer.h"
#include "io/write/outputs.h"

namespace tenon {

// A whole .pth archive: `program` is its data.pkl, and the texts are its storages, named 0, 1, ...
inline std::vector<std::byte> program_archive(std::string program,
                                              const std::vector<std::string>& storages = {}) {
  Pickled parts{std::move(program), {}};
  for (const std::string& one : storages) parts.storages.push_back(payload_of(one));
  ReadMeter cost = ReadMeter::of_saving();
  const FilePlan plan = plan_archive("archive", std::move(parts), cost);
  std::vector<std::byte> bytes(static_cast<std::size_t>(plan.size));
  const Watch watch;
  Meter meter(watch, plan.size, "stopped");
  write_file(plan, MemoryOutput(bytes), meter);
  return bytes;
}

// Operations with their arguments.
namespace program {

inline std::string number(std::uint64_t value, std::size_t bytes) {
  return {reinterpret_cast<const char*>(&value), bytes};
}
inline std::string text(std::string_view value) {
  return "X" + number(value.size(), 4) + std::string(value);
}
inline std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
inline std::string integer(std::int64_t value) {
  return "J" + number(static_cast<std::uint32_t>(value), 4);
}
inline std::string put(std::uint32_t index) { return "r" + number(index, 4); }
inline std::string get(std::uint32_t index) { return "j" + number(index, 4); }

}  // namespace program

}  // namespace tenon
