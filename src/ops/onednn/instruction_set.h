// Which instructions oneDNN may use.
//
// Note [Tiles that are not there]
// A virtual machine may say that its processor has the AMX tile instructions and leave CPUID leaf
// 0x1D, which describes the tiles, empty. oneDNN believes the first and dies of SIGILL in its first
// product of bfloat16 matrices. So the leaf is looked at before oneDNN is used for anything, and if
// it is empty oneDNN is told to make do with what came before AMX.
#pragma once

#include <cstdint>

#include "base/function_ref.h"

namespace tenon {

struct CpuidRegisters {
  std::uint32_t eax, ebx, ecx, edx;
};
using Cpuid = FunctionRef<CpuidRegisters(std::uint32_t leaf, std::uint32_t subleaf)>;

// Whether the processor claims tiles and does not say what they are like.
bool claims_missing_tiles(Cpuid cpuid);
// The same of this machine. Never on one that is no x86.
bool claims_missing_tiles();

// Called before anything else of oneDNN; any thread, any number of times. False: oneDNN has been
// used by somebody else before, it may use tiles that are not there, and bfloat16 is not to be
// given to it.
bool limit_instruction_set();

// Whether this processor multiplies bfloat16 faster than float32. oneDNN has it for others too,
// made of instructions for float32, and slower than those: convolutions by 2.6.
bool has_fast_bfloat16();

}  // namespace tenon
