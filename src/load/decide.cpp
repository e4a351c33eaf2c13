#include "load/file_load.h"

#include "base/text.h"
#include "base/visible.h"
#include "core/device_table.h"
#include "core/swap.h"
#include "core/uninitialized.h"
#include "io/read/choice.h"
#include "io/read/flattened.h"
#include "io/read/tree_map.h"
#include "io/support/read_meter.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"
#include "tenon/extend/flattened.h"
#include "tenon/uninitialized.h"

namespace tenon::detail {

FileLoad::FileLoad(nn::Module& module, const Checkpoint& file, const LoadIntoOptions& options)
    : guard_(module, "load_into() was running"),
      file_(file.shared()),
      options_(options),
      device_(options_.device ? std::optional(usable_device(*options_.device)) : std::nullopt),
      surveyed_(surveyed(file_, options_, wrappers_)),
      incoming_(incoming(file_, surveyed_, options_, guard_)),
      plan_(module, incoming_,
            {.strict = options_.strict,
             .assign = options_.assign,
             .skip_mismatched = options_.skip_mismatched,
             .allow_meta = options_.allow_meta,
             .allow_tie_conflicts = options_.allow_tie_conflicts},
            true) {
  // Of the names of one tensor the shortest: it is told of for each of them.
  for (const auto& [name, value] : surveyed_) {
    if (!value.is_tensor()) continue;
    const void* cell = value.as_tensor().cell().get();
    const std::string in_file = options_.path.empty() ? name : concat(options_.path, ".", name);
    if (const auto wrapper = wrappers_.find(cell); wrapper != wrappers_.end()) {
      std::string& known = wrapper->second.name;
      if (known.empty() || in_file.size() < known.size()) known = in_file;
    } else if (const auto found = file_.find(in_file)) {
      const auto [known, is_new] = places_.emplace(cell, *found);
      if (!is_new && in_file.size() < file_.tensors()[known->second].name.size())
        known->second = *found;
    }
  }
  plan_.set_same([this](const Tensor& a, const Tensor& b) {
    const auto x = places_.find(a.cell().get()), y = places_.find(b.cell().get());
    return x != places_.end() && y != places_.end() && same_place(x->second, y->second);
  });
}

StateDict FileLoad::surveyed(const Checkpoint& file, const LoadIntoOptions& options,
                             SavedWrappers& wrappers) {
  const Value* at = file.tree().find_path(options.path);
  if (at == nullptr)
    throw IndexError(
        concat(visible(file.file()), ": there is nothing under ", Value(options.path).repr()));
  if (!has_any_unflatten()) return StateDict(*at);
  return StateDict(mapped_dicts(*at, [&](const Value& dict) -> Value {
    if (!is_flattened(dict)) return dict;
    const auto like = flattened_layout(dict);
    if (!like) return dict;  // nobody knows its class
    Tensor stands = empty(like->shape, {.dtype = like->dtype, .device = Device::meta()});
    std::uint64_t bytes = 0;
    for (const auto& [key, part] : dict.entries()) {
      if (!part.is_tensor()) continue;
      const Tensor tensor = part.as_tensor();
      const auto inner = wrappers.find(tensor.cell().get());
      bytes += inner != wrappers.end()
                   ? inner->second.bytes
                   : static_cast<std::uint64_t>(tensor.numel() * itemsize(tensor.dtype()));
    }
    wrappers.emplace(stands.cell().get(), SavedWrapper{stands, {}, bytes});
    return stands;
  }));
}

StateDict FileLoad::incoming(const Checkpoint& file, StateDict state,
                             const LoadIntoOptions& options, const nn::detail::Guard& guard) {
  if (options.filter) {
    state.erase_if([&](std::string_view name, const Value& value) {
      return value.is_tensor() && !options.filter(name);
    });
  }
  if (!options.rename.empty()) {
    // The file chose the names, and how long they are.
    ReadMeter meter(file.file(), options.limits);
    for (const StorageFacts& storage : file.storages()) meter.add_file(storage.stored);
    state = StateDict(renamed(state, options.rename, &meter));
  }
  guard.check();
  return state;
}

void FileLoad::decide_again() {
  for (LoadAction* action : plan_.changed()) {
    std::erase_if(items_, [&](const LoadItem& item) { return item.action == action; });
    std::erase_if(assembled_, [&](const Assembled& one) { return one.action == action; });
    const bool leads = &plan_.actions()[action->leader] == action;
    if (leads && action->value.shape() == action->slot->get().shape()) decide(*action);
  }
  plan_.fail_if_wrong();
}

bool FileLoad::takes_dtype(DType dtype) const {
  return options_.dtype && is_floating_point(dtype) == is_floating_point(*options_.dtype) &&
         is_complex(dtype) == is_complex(*options_.dtype);
}

void FileLoad::decide_lazy(LoadAction& action) const {
  const Tensor like = options_.assign ? action.value : action.slot->get();
  const bool takes = takes_dtype(like.dtype());
  if (!takes && !device_) return;
  action.value = uninitialized_like(like, takes ? options_.dtype : std::nullopt, device_);
  action.how = options_.assign && !plan_.swaps() ? How::rebind : How::swap;
}

void FileLoad::decide_assembled(LoadAction& action, const SavedWrapper& from) {
  const Tensor& own = action.slot->get();
  const DType saved = action.value.dtype();
  const bool takes = takes_dtype(saved);
  const Device stays = options_.assign || own.is_meta() ? Device::cpu() : own.device();
  const bool gets_other =
      (takes && own.dtype() != *options_.dtype) || (device_ && own.device() != *device_);
  const bool swapped = !options_.assign && (own.is_meta() || gets_other);
  assembled_.push_back(
      {&action, own, &from, takes ? *options_.dtype : saved, device_.value_or(stays), swapped});
  action.how = options_.assign && !plan_.swaps() ? How::rebind
               : swapped || plan_.swaps()        ? How::swap
                                                 : How::copy;
}

void FileLoad::decide(LoadAction& action) {
  if (is_lazy(action.value)) return decide_lazy(action);
  const auto wrapper = wrappers_.find(action.value.cell().get());
  if (wrapper != wrappers_.end()) return decide_assembled(action, wrapper->second);
  const auto place = places_.find(action.value.cell().get());
  if (place == places_.end()) {
    // A hook's own value, which is there already.
    if (!action.value.is_meta()) {
      const Tensor& own = action.slot->get();
      if (!action.lazy && action.value.dim() != own.dim()) action.value = action.value[0].detach();
      plan_.decide(action);
    } else {
      plan_.error(plan_.failure(action,
                                "a hook made it from tensors of the file, which are not read yet: "
                                "load_state_dict(load(...)) reads them first"));
    }
    return;
  }
  const Tensor& own = action.slot->get();
  const TensorFacts& facts = file_.tensors()[place->second];
  const bool lazy = action.lazy;
  const bool user_defined = own.body().is_wrapper() && !lazy;
  LoadItem item{.action = &action,
                .own = own,
                .shape = lazy ? facts.shape : own.shape(),
                .index = place->second,
                .dtype = facts.dtype,
                .device = Device::cpu(),
                .how = LoadStep::How::replaced,
                .on_meta = own.is_meta(),
                // Without assign the order in memory is the module's, as after copying.
                .ordered = !options_.assign && !lazy && !own.is_contiguous(),
                .like = {},
                .made = {}};
  if (takes_dtype(facts.dtype)) {
    item.dtype = *options_.dtype;
  } else if (!options_.assign && !user_defined) {
    item.dtype = own.dtype();
  }
  if (device_) {
    item.device = *device_;
  } else if (!options_.assign && !own.is_meta()) {
    item.device = own.device();
  }
  if (user_defined && (plan_.swaps() || !options_.assign)) {
    item.how = LoadStep::How::handed;
    action.how = plan_.swaps() ? How::swap : How::nothing;
  } else if (!options_.assign && !lazy && !own.is_meta() && own.dtype() == item.dtype &&
             own.device() == item.device) {
    item.how = LoadStep::How::copied;
    action.how = options_.full_staging ? How::copy : How::nothing;
  } else {
    action.how = options_.assign && !plan_.swaps() ? How::rebind : How::swap;
    if (options_.mmap && item.dtype == facts.dtype && item.device.is_cpu() &&
        facts.storage != TensorFacts::kNoStorage && file_.storages()[facts.storage].mappable)
      item.how = LoadStep::How::mapped;
    if (!check_replaceable(item)) return;
  }
  if (facts.storage == TensorFacts::kNoStorage)
    return plan_.error(plan_.failure(action, "Cannot copy out of meta tensor; no data!"));
  items_.push_back(std::move(item));
}

bool FileLoad::check_replaceable(const LoadItem& item) {
  const Tensor& own = item.own;
  try {
    if (own.is_parameter() && own.requires_grad() && !is_differentiable(item.dtype))
      throw DTypeError("Only Tensors of floating point and complex dtype can require gradients");
    if (item.action->how == How::swap) check_swap(own, stand_in_);
    return true;
  } catch (const Error& error) {
    plan_.error(plan_.failure(*item.action, error.what()));
    return false;
  }
}

void FileLoad::find_shared() {
  std::map<std::uint32_t, const LoadItem*> first;
  for (const LoadItem& item : items_) {
    if (item.how != LoadStep::How::replaced) continue;
    const std::uint32_t storage = file_.tensors()[item.index].storage;
    wanted_[storage] += bytes_in_file(item);
    const auto [found, is_new] = first.emplace(storage, &item);
    if (!is_new && !same_place(item.index, found->second->index)) shared_.insert(storage);
  }
}

}  // namespace tenon::detail
