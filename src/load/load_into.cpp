#include "tenon/load_into.h"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/thread_pool.h"
#include "core/body_editor.h"
#include "core/device_table.h"
#include "core/secret_hash.h"
#include "core/swap.h"
#include "core/uninitialized.h"
#include "io/choice.h"
#include "io/flattened.h"
#include "io/meter.h"
#include "io/tree_map.h"
#include "load/memory_need.h"
#include "load/tensor_stream.h"
#include "nn/load_plan.h"
#include "nn/shared_storages.h"
#include "tenon/autograd.h"
#include "tenon/body.h"
#include "tenon/error.h"
#include "tenon/factories.h"
#include "tenon/flattened.h"
#include "tenon/threads.h"
#include "tenon/uninitialized.h"

namespace tenon {

namespace {

using nn::detail::LoadAction;
using nn::detail::LoadPlan;
using How = LoadAction::How;

// A tensor of the file on its way to an action of the plan.
struct Item {
  LoadAction* action;
  Tensor own;         // of the module; its slot may be emptied by user code that the load runs
  std::size_t index;  // among the file's tensors
  DType dtype;        // of the result
  Device device;
  LoadStep::How how;
  Tensor made;  // the result, unless it is copied into place
};

// A user-defined tensor of the file: several tensors there, and one when they are put together.
struct SavedWrapper {
  std::string name;
  std::uint64_t bytes;  // of its parts
};
// One on its way to an action of the plan, whose value stands for it.
struct Assembled {
  LoadAction* action;
  Tensor own;  // of the module
  const SavedWrapper* from;
  DType dtype;
  Device device;
};

class LoadInto {
 public:
  LoadInto(nn::Module& module, const Checkpoint& file, const LoadIntoOptions& options)
      : file_(file),
        options_(options),
        device_(options.device ? std::optional(usable_device(*options.device)) : std::nullopt),
        surveyed_(surveyed(file, options, wrappers_)),
        incoming_(incoming(surveyed_, options)),
        plan_(module, incoming_,
              {.strict = options.strict,
               .assign = options.assign,
               .skip_mismatched = options.skip_mismatched,
               .allow_meta = options.allow_meta,
               .allow_tie_conflicts = options.allow_tie_conflicts},
              true) {
    for (const auto& [name, value] : surveyed_) {
      if (!value.is_tensor()) continue;
      const void* cell = value.as_tensor().cell().get();
      const std::string in_file = options.path.empty() ? name : concat(options.path, ".", name);
      if (const auto wrapper = wrappers_.find(cell); wrapper != wrappers_.end()) {
        wrapper->second.name = in_file;
      } else if (const auto found = file.find(in_file)) {
        places_.emplace(cell, *found);
      }
    }
    plan_.set_same([this](const Tensor& a, const Tensor& b) {
      const auto x = places_.find(a.cell().get()), y = places_.find(b.cell().get());
      return x != places_.end() && y != places_.end() && same_place(x->second, y->second);
    });
  }

  LoadIntoReport run() {
    plan_.collect();
    for (std::uint32_t i = 0; i < plan_.actions().size(); ++i) {
      if (plan_.actions()[i].leader == i) decide(plan_.actions()[i]);
    }
    plan_.judge();
    decide_again();
    find_shared();
    LoadIntoReport report = describe();
    check_budget(report);
    if (options_.dry_run) return report;
    Meter meter(options_.watch, report.bytes_read, "load_into: stopped, with the module untouched");
    meter_ = &meter;
    stage();
    plan_.stage();
    plan_.commit([this] { copy_into_place(); });
    try {
      meter.finish();
    } catch (...) {  // it is done
    }
    static_cast<nn::IncompatibleKeys&>(report) = std::move(plan_.result());
    return report;
  }

 private:
  using SavedWrappers = std::unordered_map<const void*, SavedWrapper>;  // by cell of the survey

  // The state dict of the file, on meta. A user-defined tensor is one plain tensor there.
  static StateDict surveyed(const Checkpoint& file, const LoadIntoOptions& options,
                            SavedWrappers& wrappers) {
    const Value* at = file.tree().find_path(options.path);
    if (at == nullptr)
      throw IndexError(concat(file.file(), ": there is nothing under \"", options.path, "\""));
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
      wrappers.emplace(stands.cell().get(), SavedWrapper{{}, bytes});
      return stands;
    }));
  }
  static StateDict incoming(StateDict state, const LoadIntoOptions& options) {
    if (options.filter) {
      state.erase_if([&](std::string_view name, const Value& value) {
        return value.is_tensor() && !options.filter(name);
      });
    }
    return options.rename.empty() ? state : StateDict(renamed(state, options.rename));
  }

  // Hooks have called lazy modules, whose tensors are then as all others.
  void decide_again() {
    for (LoadAction* action : plan_.changed()) {
      std::erase_if(items_, [&](const Item& item) { return item.action == action; });
      std::erase_if(assembled_, [&](const Assembled& one) { return one.action == action; });
      const bool leads = &plan_.actions()[action->leader] == action;
      if (leads && action->value.shape() == action->slot->get().shape()) decide(*action);
    }
    plan_.fail_if_wrong();
  }

  // Whether one of the file's is given the dtype that is asked for. Not from complex to real, which
  // would lose half of each number.
  bool takes_dtype(DType dtype) const {
    return options_.dtype && is_floating_point(dtype) == is_floating_point(*options_.dtype) &&
           is_complex(dtype) == is_complex(*options_.dtype);
  }

  // The file has no shape for it either.
  void decide_lazy(LoadAction& action) const {
    const Tensor like = options_.assign ? action.value : action.slot->get();
    const bool takes = takes_dtype(like.dtype());
    if (!takes && !device_) return;
    action.value = uninitialized_like(like, takes ? options_.dtype : std::nullopt, device_);
    action.how = options_.assign && !plan_.swaps() ? How::rebind : How::swap;
  }

  // As load_state_dict(load(...)) would have it, but that tensors on meta become what is loaded.
  void decide_assembled(LoadAction& action, const SavedWrapper& from) {
    const Tensor& own = action.slot->get();
    const DType dtype = action.value.dtype();
    const Device stays = options_.assign || own.is_meta() ? Device::cpu() : own.device();
    assembled_.push_back({&action, own, &from, takes_dtype(dtype) ? *options_.dtype : dtype,
                          device_.value_or(stays)});
    action.how = options_.assign && !plan_.swaps() ? How::rebind
                 : own.is_meta() || plan_.swaps()  ? How::swap
                                                   : How::copy;
  }

  void decide(LoadAction& action) {
    if (is_lazy(action.value)) return decide_lazy(action);
    const auto wrapper = wrappers_.find(action.value.cell().get());
    if (wrapper != wrappers_.end()) return decide_assembled(action, wrapper->second);
    const auto place = places_.find(action.value.cell().get());
    if (place == places_.end()) {
      // A hook's own value, which is there already.
      if (!action.value.is_meta()) {
        const Tensor& own = action.slot->get();
        if (!action.lazy && action.value.dim() != own.dim())
          action.value = action.value[0].detach();
        plan_.decide(action);
      } else {
        plan_.error(
            plan_.failure(action,
                          "a hook made it from tensors of the file, which are not read yet: "
                          "load_state_dict(load(...)) reads them first"));
      }
      return;
    }
    const Tensor& own = action.slot->get();
    const TensorFacts& facts = file_.tensors()[place->second];
    const bool lazy = action.lazy;
    const bool user_defined = own.body().is_wrapper() && !lazy;
    Item item{&action, own, place->second, facts.dtype, Device::cpu(), LoadStep::How::replaced, {}};
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

  bool check_replaceable(const Item& item) {
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

  std::uint64_t bytes_in_file(const Item& item) const {
    const TensorFacts& facts = file_.tensors()[item.index];
    return static_cast<std::uint64_t>(facts.shape.numel() * itemsize(facts.dtype));
  }

  // Bytes of a tensor; of a user-defined one, of what it is made of.
  static std::uint64_t bytes_of_parts(const Tensor& tensor) {
    const auto parts = tensor.body().is_wrapper() ? tensor.body().flatten() : std::nullopt;
    if (!parts) return static_cast<std::uint64_t>(tensor.numel() * itemsize(tensor.dtype()));
    std::uint64_t bytes = 0;
    for (const auto& [name, part] : parts->tensors) bytes += bytes_of_parts(part);
    return bytes;
  }

  // Whether what is loaded with its storage, or mapped, is only what the tensor is copied from.
  bool is_copied_again(const Item& item) const {
    const TensorFacts& facts = file_.tensors()[item.index];
    if (item.dtype != facts.dtype || !item.device.is_cpu()) return true;
    if (options_.assign) return false;
    const Tensor& own = item.own;
    if (item.action->lazy) {
      const Layout layout{facts.shape, facts.stride, facts.offset, facts.dtype, Device::cpu()};
      return !layout.is_contiguous();
    }
    if (facts.stride != own.stride() && facts.shape.size() == own.shape().size()) return true;
    return !own.is_meta() && item.how != LoadStep::How::mapped && shared_.contains(facts.storage);
  }

  LoadIntoReport describe() {
    LoadIntoReport report;
    static_cast<nn::IncompatibleKeys&>(report) = plan_.result();
    MemoryNeed need;
    const auto make = [&](std::uint64_t bytes) {
      report.bytes_made += bytes;
      need.keep(bytes);
    };
    std::unordered_set<std::uint32_t> counted;
    std::set<Place> twins;
    for (const Item& item : items_) {
      const TensorFacts& facts = file_.tensors()[item.index];
      const std::uint64_t in_file = bytes_in_file(item);
      const auto made = static_cast<std::uint64_t>(facts.shape.numel() * itemsize(item.dtype));
      const std::uint64_t reading = memory_to_read(file_, item.index, item.dtype, item.device);
      report.steps.push_back({std::string(item.action->key), facts.name, item.how, facts.shape,
                              facts.dtype, item.dtype, item.device, in_file});
      switch (item.how) {
        case LoadStep::How::copied:
          report.bytes_read += verifies() && !options_.full_staging ? 2 * in_file : in_file;
          if (options_.full_staging) need.keep(made);
          need.pass(reading);
          break;
        case LoadStep::How::mapped:
          if (is_copied_again(item)) make(made);
          break;
        case LoadStep::How::handed:
          // One after another. What its class keeps of it is the class's affair: as much as it has
          // already, if it makes another one.
          report.bytes_read += !plan_.swaps() && verifies() ? 2 * in_file : in_file;
          if (plan_.swaps()) make(bytes_of_parts(item.own));
          need.pass(made + reading);
          break;
        case LoadStep::How::replaced:
          report.bytes_read += in_file;
          if (goes_whole(item)) {
            // With its storage, once.
            const bool again = is_copied_again(item);
            if (counted.insert(facts.storage).second) {
              const std::uint64_t all = file_.storages()[facts.storage].nbytes;
              again ? need.together(all) : make(all);
            }
            if (again) make(made);
          } else if (!shares_with_twin(item) || twins.insert(place_of(item)).second) {
            make(made);
            need.pass(reading);
          }
          break;
      }
    }
    for (const Assembled& one : assembled_) {
      report.steps.push_back({std::string(one.action->key), one.from->name, LoadStep::How::replaced,
                              one.action->value.shape(), one.action->value.dtype(), one.dtype,
                              one.device, one.from->bytes});
      report.bytes_read += one.from->bytes;
      make(one.from->bytes);
      if (one.dtype != one.action->value.dtype() || !one.device.is_cpu())
        need.together(one.from->bytes);
    }
    report.peak_bytes = need.peak(static_cast<std::size_t>(get_num_threads()));
    return report;
  }

  void check_budget(const LoadIntoReport& report) const {
    if (!options_.memory_budget || report.peak_bytes <= *options_.memory_budget) return;
    throw ValueError(
        concat("load_into: ", report.peak_bytes,
               " bytes would be needed at once, and the "
               "budget is ",
               *options_.memory_budget,
               ": use .mmap, a smaller .dtype, or copy into a module that has memory"));
  }

  bool verifies() const { return options_.verify.value_or(true); }

  PieceRead tell() const {
    return [this](std::uint64_t bytes) {
      meter_->stop_if_asked();
      meter_->add(bytes);
    };
  }
  // Once bytes are being written, nobody ends it.
  PieceRead tell_only() const {
    return [this](std::uint64_t bytes) {
      try {
        meter_->add(bytes);
      } catch (...) {
      }
    };
  }

  // Stage: reads everything that becomes memory of its own, and looks at the rest.

  void stage() {
    const NoGradScope no_grad;
    const OrdinaryScope ordinary;
    load_unconverted();
    load_assembled();
    std::vector<Item*> one_by_one;
    std::vector<Item*> in_place;
    for (Item& item : items_) {
      if (item.made.defined()) continue;
      if (is_written_at_commit(item)) {
        in_place.push_back(&item);
      } else if (item.how == LoadStep::How::handed) {
        hand_over(item);
      } else {
        one_by_one.push_back(&item);
      }
    }
    each(one_by_one, [this](Item& item) { convert(item); });
    share_twins(one_by_one);
    if (verifies()) {
      each(in_place, [this](Item& item) { read_through(file_, item.index, tell()); });
    }
    for (Item& item : items_) put_into_plan(item);
  }

  bool is_written_at_commit(const Item& item) const {
    return (item.how == LoadStep::How::copied && !options_.full_staging) ||
           (item.how == LoadStep::How::handed && !plan_.swaps());
  }

  // Whether it is loaded with the whole of its storage: because it is wanted as it is, or because
  // others that lie over it are. Not if most of the storage is nobody's.
  bool goes_whole(const Item& item) const {
    const TensorFacts& facts = file_.tensors()[item.index];
    if (item.how != LoadStep::How::replaced) return false;
    const std::uint64_t all = file_.storages()[facts.storage].nbytes;
    const std::uint64_t wanted = wanted_.at(facts.storage);
    if (all > 2 * wanted + (std::uint64_t{1} << 20)) return false;
    // What was lazy gets memory of its own, as it would have it after a first call.
    if (item.action->lazy && !options_.assign && !item.own.is_meta() &&
        (wanted != all || bytes_in_file(item) != all))
      return false;
    return (item.dtype == facts.dtype && item.device.is_cpu()) || shared_.contains(facts.storage);
  }

  // Tensors that lie over each other in the file are loaded together, so that they still do.
  void find_shared() {
    std::map<std::uint32_t, const Item*> first;
    for (const Item& item : items_) {
      if (item.how != LoadStep::How::replaced) continue;
      const std::uint32_t storage = file_.tensors()[item.index].storage;
      wanted_[storage] += bytes_in_file(item);
      const auto [found, is_new] = first.emplace(storage, &item);
      if (!is_new && !same_place(item.index, found->second->index)) shared_.insert(storage);
    }
  }
  bool same_place(std::size_t a, std::size_t b) const {
    const TensorFacts &x = file_.tensors()[a], &y = file_.tensors()[b];
    return x.storage == y.storage && x.offset == y.offset && x.shape == y.shape &&
           x.stride == y.stride && x.dtype == y.dtype;
  }

  // What is wanted as it is in the file is loaded in one go, on all threads.
  void load_unconverted() {
    std::unordered_map<std::string_view, Item*, SecretHash> wanted;
    for (Item& item : items_) {
      if (item.how == LoadStep::How::mapped || goes_whole(item))
        wanted.emplace(file_.tensors()[item.index].name, &item);
    }
    if (wanted.empty()) return;
    // Storages are read whole, which may be more than the tensors were counted for.
    std::uint64_t told = 0, expected = 0;
    for (const auto& [name, item] : wanted) {
      if (item->how != LoadStep::How::mapped) expected += bytes_in_file(*item);
    }
    LoadOptions load{
        .mmap = options_.mmap,
        .verify = options_.verify,
        .map_location = "cpu",
        .filter = [&](std::string_view name) { return wanted.contains(name); },
        .watch = {.stop = options_.watch.stop, .progress = [&](std::uint64_t done, std::uint64_t) {
                    done = std::min(done, expected);
                    meter_->add(done - std::exchange(told, done));
                  }}};
    const Value tree = file_.load(load);
    nn::detail::SharedStorages shared;
    std::vector<std::pair<Item*, Tensor>> loaded;
    for (Item& item : items_) {
      if (!wanted.contains(file_.tensors()[item.index].name)) continue;
      const Value* found = tree.find_path(file_.tensors()[item.index].name);
      if (found == nullptr || !found->is_tensor())
        throw InternalError("load_into: a tensor that was asked for was not loaded");
      loaded.emplace_back(&item, found->as_tensor());
      shared.add(loaded.back().second);
    }
    for (auto& [item, tensor] : loaded) {
      const ToOptions to{.dtype = item->dtype, .device = item->device};
      const auto f = [&](const Tensor& t) { return t.to(to); };
      const auto together = shared.map(tensor, f);
      item->made = together ? *together : f(tensor);
      if (!options_.assign) item->made = as_the_modules(*item, item->made);
    }
  }

  // User-defined tensors are put together by their classes, from parts as they are in the file.
  void load_assembled() {
    if (assembled_.empty()) return;
    std::set<std::string, std::less<>> wanted;
    std::uint64_t told = 0;
    for (const Assembled& one : assembled_) wanted.insert(one.from->name);
    const Value tree = file_.load(
        {.verify = options_.verify,
         .map_location = "cpu",
         .filter = [&](std::string_view name) { return wanted.contains(name); },
         .watch = {.stop = options_.watch.stop, .progress = [&](std::uint64_t done, std::uint64_t) {
                     meter_->add(done - std::exchange(told, done));
                   }}});
    for (const Assembled& one : assembled_) {
      const Value* found = tree.find_path(one.from->name);
      if (found == nullptr || !found->is_tensor())
        throw InternalError("load_into: a tensor that was asked for was not loaded");
      LoadAction& action = *one.action;
      Tensor value = found->as_tensor();
      if (value.dtype() != one.dtype || value.device() != one.device)
        value = value.to({.dtype = one.dtype, .device = one.device});
      action.value = value;
      const Tensor& own = one.own;
      if (options_.assign || !own.is_meta()) {
        plan_.decide(action);
        continue;
      }
      action.staged = plan_.like_own(own, value);
      prepare_carry_over(own.body(), action.staged.body());
    }
    plan_.fail_if_wrong();
  }

  // Without assign the order in memory is the module's, and what it has memory of its own for
  // shares none.
  Tensor as_the_modules(const Item& item, const Tensor& loaded) const {
    const Tensor& own = item.own;
    if (item.action->lazy) return loaded.is_contiguous() ? loaded : loaded.contiguous();
    const bool ordered = loaded.stride() == own.stride() || loaded.dim() != own.dim();
    if (ordered &&
        (own.is_meta() || loaded.storage().use_count() == 1 || item.how == LoadStep::How::mapped))
      return loaded;
    Tensor fresh = empty_like(own.detach(), {.dtype = item.dtype, .device = item.device});
    fresh.copy_(loaded.dim() == own.dim() ? loaded : loaded.view(own.shape()));
    return fresh;
  }

  // Which bytes of the file, and as what.
  using Place = std::tuple<std::uint32_t, std::int64_t, int, int, std::string, std::string>;
  Place place_of(const Item& item) const {
    const TensorFacts& facts = file_.tensors()[item.index];
    return {facts.storage,
            facts.offset,
            static_cast<int>(facts.dtype),
            static_cast<int>(item.dtype),
            bracketed(facts.shape),
            bracketed(facts.stride)};
  }

  // Whether the second of two names for the same bytes shares the first one's.
  bool shares_with_twin(const Item& item) const { return options_.assign || item.own.is_meta(); }

  void convert(Item& item) {
    if (shares_with_twin(item)) {
      const std::lock_guard lock(mutex_);
      const auto [found, is_new] = twins_.try_emplace(place_of(item), &item);
      if (!is_new && item.device == found->second->device) return;
    }
    const OrdinaryScope ordinary;  // on this thread, too
    const Tensor& own = item.own;
    // Without assign the order in memory is the module's, as after copying.
    const bool ordered = !options_.assign && !item.action->lazy && !own.is_contiguous();
    const Shape& shape = file_.tensors()[item.index].shape;
    const Tensor made = ordered
                            ? empty_like(own.detach(), {.dtype = item.dtype, .device = item.device})
                            : empty(shape, {.dtype = item.dtype, .device = item.device});
    read_into(file_, item.index, made, verifies(), tell());
    item.made = made;
  }
  void share_twins(const std::vector<Item*>& items) {
    for (Item* item : items) {
      if (item->made.defined()) continue;
      item->made = twins_.at(place_of(*item))->made.detach();
    }
  }

  // A user-defined tensor is given one tensor after another; none is kept longer than it keeps it.
  void hand_over(Item& item) {
    const TensorFacts& facts = file_.tensors()[item.index];
    const Tensor value = empty(facts.shape, {.dtype = item.dtype, .device = item.device});
    read_into(file_, item.index, value, verifies(), tell());
    LoadAction& action = *item.action;
    action.value = value;
    plan_.stage_now(action);
    action.value = stand_in_;
    plan_.check_stage();
  }

  void put_into_plan(Item& item) {
    if (!item.made.defined()) return;
    LoadAction& action = *item.action;
    const Tensor& own = item.own;
    Tensor made = item.made;
    if (!action.lazy && made.shape() != own.shape()) made = made.view(own.shape()).detach();
    action.value = made;
    // What takes a place in the module is made by the plan, registration hooks and all.
    if (action.how == How::copy || action.how == How::rebind) return;
    action.staged = plan_.like_own(own, made);
    prepare_carry_over(own.body(), action.staged.body());
  }

  // Items on all threads; each reads one tensor at a time.
  void each(const std::vector<Item*>& items, const std::function<void(Item&)>& f) const {
    parallel_for(0, static_cast<std::int64_t>(items.size()), 1,
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t i = first; i < last; ++i)
                     f(*items[static_cast<std::size_t>(i)]);
                 });
  }

  // A write, which is counted when it ends.
  struct Counted {
    const Tensor& tensor;
    ~Counted() { BodyEditor::bump_version(tensor.body()); }
  };

  // Commit: what goes into memory that is there.
  void copy_into_place() {
    std::vector<std::string> written;
    for (Item& item : items_) {
      if (!is_written_at_commit(item)) continue;
      const Tensor& own = item.own;
      const std::int64_t version = own.version();
      try {
        if (item.how == LoadStep::How::handed) {
          const Tensor value = empty(own.shape(), {.dtype = item.dtype, .device = item.device});
          read_into(file_, item.index, value, verifies(), tell_only());
          own.copy_(value);
        } else {
          // Counted when the bytes are there, or as many as came: what others make of the tensor
          // while it is being read (a packed copy) is then out of date.
          const Counted counted{own};
          read_into(file_, item.index, own, verifies(), tell_only());
        }
        written.emplace_back(item.action->key);
      } catch (const std::exception& failed) {
        if (own.version() != version) written.emplace_back(item.action->key);
        plan_.error(plan_.failure(*item.action, failed.what()));
        plan_.fail(std::move(written));
      }
      plan_.check_commit(written);
    }
  }

  const Checkpoint& file_;
  const LoadIntoOptions& options_;
  std::optional<Device> device_;  // of the options, with its index
  SavedWrappers wrappers_;
  StateDict surveyed_, incoming_;  // by the file's names; chosen, and by the module's
  LoadPlan plan_;
  std::unordered_map<const void*, std::size_t> places_;  // cell of the survey to place in the file
  std::vector<Item> items_;
  std::vector<Assembled> assembled_;
  std::unordered_set<std::uint32_t> shared_;  // storages that different tensors lie in
  std::unordered_map<std::uint32_t, std::uint64_t> wanted_;  // bytes of storages that are replaced
  std::map<Place, Item*> twins_;
  std::mutex mutex_;
  Meter* meter_ = nullptr;
  Tensor stand_in_ = empty({}, {.device = Device::meta()});
};

}  // namespace

LoadIntoReport load_into(nn::Module& module, const Checkpoint& checkpoint,
                         const LoadIntoOptions& options) {
  return LoadInto(module, checkpoint, options).run();
}

LoadIntoReport load_into(nn::Module& module, const std::string& path,
                         const LoadIntoOptions& options) {
  const Checkpoint file = Checkpoint::open(
      path,
      {.inert = options.inert, .follow_links = options.follow_links, .limits = options.limits});
  return load_into(module, file, options);
}

}  // namespace tenon
