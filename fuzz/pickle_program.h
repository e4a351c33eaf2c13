// Pickles made of the fuzzer's choices: programs that mostly run to their end, of the operations
// and names that checkpoints have, with arguments that are often nearly right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "choices.h"

namespace tenon {

// The storages that they name, "0" and so on, and how many bytes each should have.
inline constexpr std::size_t kProgramStorages = 14;
inline constexpr std::int64_t kProgramStorageBytes = 64;

std::string pickle_program(Choices& choices);

}  // namespace tenon
