// The part of a module that few have: hooks, and an index of its names where there are many.
#pragma once

#include <string_view>
#include <unordered_map>

#include "tenon/nn/hooks.h"
#include "tenon/nn/module.h"

namespace tenon::nn::detail {

// The key of what a module keeps beside its tensors.
inline constexpr std::string_view kExtraState = "_extra_state";

// What a name stands for; at most one of the two.
struct Named {
  TensorSlot* tensor = nullptr;
  ChildSlot* child = nullptr;
};

struct ModuleExtras {
  HookList<StateDictPreHook> state_dict_pre;
  HookList<StateDictPostHook> state_dict_post;
  HookList<LoadStateDictPreHook> load_pre;
  HookList<LoadStateDictPostHook> load_post;
  HookList<LoadStateDictPostHook> load_committed;
  // Registered names, which live in their slots. Empty until there are more than a few.
  std::unordered_map<std::string_view, Named> names;

  ModuleExtras() = default;
  // A clone has the hooks; names come with its slots.
  ModuleExtras(const ModuleExtras& other)
      : state_dict_pre(other.state_dict_pre),
        state_dict_post(other.state_dict_post),
        load_pre(other.load_pre),
        load_post(other.load_post),
        load_committed(other.load_committed) {}
};

}  // namespace tenon::nn::detail
