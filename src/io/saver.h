// Saving with all its parts exposed: the system calls, and where the bytes of tensors come from.
#pragma once

#include <string>

#include "io/file_system.h"
#include "io/file_writer.h"
#include "io/pickler.h"
#include "tenon/save.h"

namespace tenon {

inline constexpr const char* kSavingStopped = "saving was stopped on request";

inline constexpr std::uint64_t kAnyMemory = ~std::uint64_t{0};

// `memory` is about what may be used for payloads that are in no memory yet.
TENON_API SaveReport save_with(FileSystem& system, Supply& supply, const Value& value,
                               const std::string& path, const SaveOptions& options,
                               std::uint64_t memory = kAnyMemory);

// Called before the first file or folder is made: who watches can tell from then on that there is
// something to remove. CancelledError if a stop was asked for already.
void begin_saving(const Watch& watch, std::uint64_t total);

// ValueError if a payload that cannot be read in parts needs more memory than that.
void check_memory(const FilePlan& plan, std::uint64_t memory);

}  // namespace tenon
