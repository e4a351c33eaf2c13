// KeyMap: other names for the entries of a state dict.
//
//   load(file, {.rename = KeyMap().strip_prefix("module.").replace("^h\\.(\\d+)", "layers.\\1")});
//   load(file, {.filter = matching("\\.attn\\.")});
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/detail/api.h"

namespace tenon {

// Rules that are applied one after another, in the order they were added. A name no rule is about
// stays as it is.
class TENON_API KeyMap {
 public:
  KeyMap() noexcept;
  KeyMap(const KeyMap&);
  KeyMap(KeyMap&&) noexcept;
  KeyMap& operator=(KeyMap) noexcept;
  ~KeyMap();

  KeyMap& strip_prefix(std::string prefix);
  KeyMap& add_prefix(std::string prefix);
  // Whole names: a map, or rename({{"a", "b"}, {"b", "c"}}), where the first of two for the same
  // name counts. Note [Braces with names].
  template <std::same_as<std::map<std::string, std::string, std::less<>>> Names>
  KeyMap& rename(Names names) {
    return rename_whole(std::move(names));
  }
  template <std::size_t N>
  KeyMap& rename(const std::pair<std::string, std::string> (&names)[N]) {
    return rename_whole({names, names + N});
  }
  // Every match of a regular expression (RE2's syntax), \1 standing for its first group. ValueError
  // if it is none. Applied to a name of more than 1,024 bytes, or making one of more than 65,536,
  // it throws ValueError: such work is quadratic, and files choose their names.
  KeyMap& replace(const std::string& pattern, std::string with);

  bool empty() const noexcept;
  std::string operator()(std::string_view name) const;
  // The same for the name of a module, as metadata has it: only prefixes are about these.
  std::string module(std::string_view name) const;

 private:
  KeyMap& rename_whole(std::map<std::string, std::string, std::less<>> names);

  struct Rules;
  std::unique_ptr<Rules> rules_;
};

// Whether a regular expression (RE2's syntax) matches somewhere in a name. ValueError if it is
// none.
TENON_API std::function<bool(std::string_view)> matching(const std::string& pattern);

}  // namespace tenon
