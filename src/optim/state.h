// What an optimizer keeps for its parameters, in the order it began to.
#pragma once

#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/optim/optimizer.h"

namespace tenon::optim {

struct Optimizer::State {
  struct Entry {
    Tensor parameter;  // undefined: `key` and `other` are what a file had for no parameter here
    NamedValues kept;
    Value key, other;
  };
  std::deque<Entry> entries;  // they stay where they are
  // Places in `entries`. The cell is what stays the same when a parameter's content is swapped.
  std::unordered_map<const void*, std::size_t> places;

  const Entry* find(const Tensor& parameter) const {
    const auto place = places.find(parameter.cell().get());
    return place == places.end() ? nullptr : &entries[place->second];
  }
  Entry& at(const Tensor& parameter) {
    const auto [place, fresh] = places.try_emplace(parameter.cell().get(), entries.size());
    if (fresh) {
      entries.emplace_back();
      entries.back().parameter = parameter;
    }
    return entries[place->second];
  }
};

// All that a load is going to change.
struct Optimizer::Plan {
  std::vector<ParamGroup> groups;
  State state;
};

}  // namespace tenon::optim
