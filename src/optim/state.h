// What an optimizer keeps for its parameters, in the order it began to.
#pragma once

#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/nn/guard.h"
#include "tenon/optim/optimizer.h"

namespace tenon::optim {

struct Optimizer::State {
  struct Entry {
    Tensor parameter;  // undefined: `key` and `other` are what a file had for no parameter here
    NamedValues kept;
    Value key, other;
  };
  // While the groups are gone through, new ones wait here, because user code (operators of
  // user-defined tensors, a class derived from Optimizer) may add some.
  int going_through = 0;
  std::vector<ParamGroup> waiting;

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

// The groups stay where they are while there is one.
class Optimizer::GoingThrough {
 public:
  GoingThrough(Optimizer& optimizer, const nn::detail::Guard& guard) noexcept
      : optimizer_(optimizer), guard_(guard) {
    ++optimizer.state_->going_through;
  }
  ~GoingThrough() {
    if (guard_.is_gone()) return;
    --optimizer_.state_->going_through;
  }
  GoingThrough(const GoingThrough&) = delete;
  GoingThrough& operator=(const GoingThrough&) = delete;

 private:
  Optimizer& optimizer_;
  const nn::detail::Guard& guard_;
};

// All that a load is going to change.
struct Optimizer::Plan {
  std::vector<ParamGroup> groups;
  State state;
};

}  // namespace tenon::optim
