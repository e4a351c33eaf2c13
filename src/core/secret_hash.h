// Hashes of what a file chooses, made with numbers of this process's own: nobody can choose text or
// numbers whose hashes meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/detail/api.h"

namespace tenon {

class Value;

TENON_API std::size_t hash_text(std::string_view text);
// Of a number, with what was hashed before it.
TENON_API std::size_t hash_number(std::uint64_t number, std::size_t before);

// Whether Python finds two keys of a dict equal: numbers by their value, whatever their type, a
// torch.Size and a tuple. The hashes of such keys are equal. ValueError beyond a thousand levels.
TENON_API bool same_key(const Value& a, const Value& b);
TENON_API std::size_t hash_key(const Value& key);

// For a map of names that come from a file.
struct SecretHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return hash_text(text); }
};

}  // namespace tenon
