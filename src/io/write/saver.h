// Saving with all its parts exposed: the system calls, and where the bytes of tensors come from.
#pragma once

#include <string>

#include "io/pickle/pickler.h"
#include "io/write/file_system.h"
#include "io/write/file_writer.h"
#include "tenon/save.h"

namespace tenon {

struct Format;

inline constexpr const char* kSavingStopped = "saving was stopped on request";

inline constexpr std::uint64_t kAnyMemory = ~std::uint64_t{0};

// How the tensors of a value are supplied, and what writing them may cost.
struct Saving {
  Supply& supply;
  ReadMeter& meter;
  std::uint64_t memory = kAnyMemory;  // about so many bytes, for payloads that are in none yet
};
TENON_API SaveReport save_with(FileSystem& system, const Saving& saving, const Value& value,
                               const std::string& path, const SaveOptions& options);

// The row of the format that the options or the name of the file ask for. Without a name, the path
// is empty.
const Format& format_of(const std::string& path, const SaveOptions& options);

// A meter for values that are in memory: if the format keeps what is shared, there is no limit.
ReadMeter meter_of_saving(const Value& value, const Format& format);

// Called before the first file or folder is made: who watches can tell from then on that there is
// something to remove. CancelledError if a stop was asked for already.
void begin_saving(const Watch& watch, std::uint64_t total);

// ValueError if a payload that cannot be read in parts needs more memory than that.
void check_memory(const FilePlan& plan, std::uint64_t memory);

}  // namespace tenon
