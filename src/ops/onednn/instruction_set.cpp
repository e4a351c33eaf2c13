#include "ops/onednn/instruction_set.h"

#include <dnnl.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tenon {

bool claims_missing_tiles(Cpuid cpuid) {
  constexpr std::uint32_t kFeatures = 7, kTiles = 0x1D;
  constexpr std::uint32_t kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kAmxInt8 = 1u << 25;
  const std::uint32_t highest = cpuid(0, 0).eax;
  if (highest < kFeatures) return false;
  if ((cpuid(kFeatures, 0).edx & (kAmxBf16 | kAmxTile | kAmxInt8)) == 0) return false;
  // Subleaf 0 has the number of the last palette, subleaf 1 the first palette's tiles.
  return highest < kTiles || cpuid(kTiles, 0).eax == 0 || cpuid(kTiles, 1).ebx == 0;
}

bool claims_missing_tiles() {
#if defined(__x86_64__)
  return claims_missing_tiles([](std::uint32_t leaf, std::uint32_t subleaf) {
    CpuidRegisters out{};
    __cpuid_count(leaf, subleaf, out.eax, out.ebx, out.ecx, out.edx);
    return out;
  });
#else
  return false;
#endif
}

namespace {

// What the user has said with ONEDNN_MAX_CPU_ISA stays, if it is one of those without tiles. oneDNN
// does not look at the case of letters, and ignores what it does not know.
bool user_excludes_tiles() {
  constexpr std::string_view kWithout[] = {"SSE41",
                                           "AVX",
                                           "AVX2",
                                           "AVX2_VNNI",
                                           "AVX512_MIC",
                                           "AVX512_CORE",
                                           "AVX512_MIC_4OPS",
                                           "AVX512_CORE_VNNI",
                                           "AVX512_CORE_BF16",
                                           "AVX512_CORE_FP16"};
  for (const char* name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    std::string text(value);
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    return std::find(std::begin(kWithout), std::end(kWithout), text) != std::end(kWithout);
  }
  return false;
}

}  // namespace

bool limit_instruction_set() {
  static const bool safe = !claims_missing_tiles() || user_excludes_tiles() ||
                           dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16) == dnnl_success;
  return safe;
}

bool has_fast_bfloat16() {
  static const bool has =
      limit_instruction_set() && (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) ==
                                     dnnl_cpu_isa_avx512_core_bf16;
  return has;
}

}  // namespace tenon
