// What is copied of a state dict's names.
//
// Note [Names that are copied]
// Options of a group, and what is kept for a parameter, have their names as text of their own. A
// file can use one dict, or one long name, for all groups and parameters. What is copied again of
// such may take some kilobytes each time, and 16 MiB together, as in the repr of a value: no
// optimizer writes anything like that.
#pragma once

#include <cstddef>
#include <unordered_set>

#include "tenon/value.h"

namespace tenon::optim {

class CopiedNames {
 public:
  // From here on it is about what another group, or another parameter, has: in this dict.
  // ValueError if there was one before.
  void begin(const Value& dict);
  // One of its names, of that length. ValueError beyond the limit.
  void add(const Value& name, std::size_t length);

 private:
  void check() const;

  std::unordered_set<const void*> seen_;  // dicts and names, by identity
  bool again_ = false;                    // the dict is one of them
  std::size_t free_ = 0;                  // bytes that this one does not pay for
  std::size_t bytes_ = 0;
  bool too_much_ = false;
};

}  // namespace tenon::optim
