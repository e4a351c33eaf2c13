// LoadPlan: what a load is going to do, as a list of actions and problems, and doing it. The phases
// are those of tenon/nn/load_state_dict.h; load_state_dict runs all of them over tensors in memory,
// load_into (src/load) stages tensors from a file instead.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/page_allocator.h"
#include "base/releases.h"
#include "core/autograd_meta.h"
#include "core/held_state.h"
#include "core/swap.h"
#include "nn/load_source.h"
#include "nn/tree_guard.h"
#include "tenon/error.h"
#include "tenon/nn/conversion.h"
#include "tenon/nn/load_state_dict.h"
#include "tenon/nn/slots.h"
#include "tenon/tensor.h"

namespace tenon::nn {
class LazyModuleMixin;
}

namespace tenon::nn::detail {

// A module on the walk.
struct Visit {
  Module* module;
  Source* source;
  const std::string* prefix;
  bool scanned = false;                       // unexpected keys of its level are looked for
  std::vector<const TensorSlot*> taken = {};  // that LoadContext::load was called for
  Guard* guard = nullptr;                     // on the module
};

// One tensor of the module and what comes for it.
struct LoadAction {
  enum class How : std::uint8_t {
    copy,           // into the tensor that is there
    rebind,         // another tensor takes its place in the module
    swap,           // the tensor becomes another one
    copy_and_swap,  // both: the swapped tensor is over the old memory
    renew,          // as swap, or rebind of a tensor nobody else knows: its body is made over
    nothing,        // copying to or from meta
  };

  TensorSlot* slot;
  std::string_view key;
  Tensor value;   // what comes, of the shape that is there
  Tensor staged;  // what takes the place, once it is made
  How how;
  bool lazy;  // whether the tensor had no shape when this was decided on
  // The action for the same tensor that counts: this one or a later one. Until all are collected,
  // the next one.
  std::uint32_t leader;
};

using LoadActions = std::vector<LoadAction, PageAllocator<LoadAction>>;

class LoadPlan {
 public:
  // From a file: the tensors of the state dict are on meta and stand for those of the file. What is
  // done with each of them is then left to the caller, who sets it between collect() and judge().
  LoadPlan(Module& root, const StateDict& state, const LoadStateDictOptions& options,
           bool from_file = false);
  LoadPlan(const LoadPlan&) = delete;
  ~LoadPlan();

  // Walks the tree, and finds every problem that can be found without changing anything. The
  // actions and the lists are complete afterwards.
  void collect();
  // LoadError if there are problems.
  void judge();
  // From a file: actions to be decided on again after judge(), because hooks have given shapes to
  // their tensors. Those that do not fit any more are among them, too.
  const std::vector<LoadAction*>& changed() const noexcept { return changed_; }
  // Makes what will take the places, from the actions' values. LoadError if user code fails.
  void stage();
  // Puts it there. What the caller copies itself, it does when it is called: after everything that
  // may fail without harm, and before anything is put in place.
  void commit(const std::function<void()>& copies = {});

  // How a value that is in memory gets into the module; false, with an error noted, if it cannot.
  bool decide(LoadAction& action);
  // Makes what takes one place. Failures are noted.
  void stage_now(LoadAction& action);
  bool swaps() const noexcept { return swap_; }
  // A new parameter over a value that requires grad if the old one does, or the value for a buffer.
  Tensor like_own(const Tensor& own, const Tensor& value) const;
  // Whether two tensors of a file are one.
  void set_same(std::function<bool(const Tensor&, const Tensor&)> same) { same_ = std::move(same); }
  const LoadStateDictOptions& options() const noexcept { return options_; }
  LoadActions& actions() noexcept { return actions_; }
  IncompatibleKeys& result() noexcept { return result_; }
  void error(std::string sentence) { errors_.push_back(std::move(sentence)); }
  // After user code that the caller has run to stage something: LoadError if a tensor is not in its
  // place any more.
  void check_stage();
  // After user code that has run in the commit: LoadError if it has changed what is being loaded.
  void check_commit();
  // In the commit: the tensor of that key has been written to.
  void note_written(std::string_view key) { written_.emplace_back(key); }
  // The error of one whose writing has failed.
  [[noreturn]] void fail_commit() {
    take_back_extra_states();
    fail(std::move(written_));
  }
  [[noreturn]] void fail(std::vector<std::string> written = {});
  void fail_if_wrong() {
    if (!errors_.empty()) fail();
  }
  // "While copying the parameter named ..., an exception occurred : ...": PyTorch's sentence.
  std::string failure(const LoadAction& action, const std::string& what) const;

  // For LoadContext.
  void load_own(Visit& visit);
  void take(TensorSlot& slot, const Value& value, std::string_view key);
  // Where one of the two has no shape.
  void take_lazy(TensorSlot& slot, const Tensor& value, std::string_view key);
  // A key that lives as long as the plan.
  std::string_view keep(std::string_view key) { return keys_.emplace_back(key); }
  Source& editable(Visit& visit);
  Value local_metadata(const Visit& visit) const;
  void missing(std::string key);
  void unexpected(std::string key);
  void at_commit(std::function<void()> action) { at_commit_.push_back(std::move(action)); }

 private:
  struct Found {  // a key, and how far the walk had come
    std::size_t order;
    std::string key;
    std::size_t number = 0;  // among those of one kind, for putting them in order
  };
  struct HookPoint {  // a module with load post-hooks, and the last of its tree
    Module* module;
    std::string prefix;
    std::size_t order;
  };
  struct ExtraState {
    Module* module;
    Value state;
  };

  void visit(Module& module, Source& source);
  void run_guarded(Module& module, const char* what, const std::function<void()>& f);
  void find_unexpected();
  void check_meta();
  void warn_about_meta();
  void note_tie(std::uint32_t index, const Tensor& own);
  bool can_renew(const LoadAction& action) const;
  void note_left_out(TensorSlot& slot) {
    if (slot.get().cell()->use_count() > 1) left_out_.push_back(&slot);
  }
  bool differs(const LoadAction& earlier, const LoadAction& later) const;
  // Of what comes: an error, or left out if that is asked for.
  void mismatched(TensorSlot& slot, std::string_view key, const Shape& incoming,
                  const Shape& shape);
  // After user code: Error if the root is gone, and an error noted for each action whose tensor it
  // has taken out, replaced or swapped since.
  void note_changes();
  bool is_there(const TensorSlot* slot) const { return !tree_.was_touched(slot); }
  // Error if user code has emptied the slot since the guard's count was that.
  void check_slot(const TensorSlot& slot, std::size_t seen) const;
  Shape lazy_shape(const TensorSlot& slot, const Shape& incoming) const;
  bool decide_lazy(LoadAction& action);
  Tensor lazy_value(const Tensor& own, const Tensor& value) const;
  void stage_one(LoadAction& action);
  void check_again();
  void check_holders();
  void check_held(LoadAction& action);
  void check_tensor(LoadAction& action);
  void decide_again(LoadAction& action);
  void set_extra_states();
  void take_back_extra_states();
  void commit_user_copies();
  void commit_copies();
  void finish();
  void rebind(TensorSlot& slot, const Tensor& value) const noexcept;
  void commit_tensors();
  void prefetch(std::size_t at) const;
  void keep_hooks(Body& body) noexcept;

  // The last to go, when nothing here has pointers to anything any more.
  Releases replaced_;
  std::vector<std::vector<tenon::detail::LeafHook>> replaced_hooks_;
  std::vector<std::vector<tenon::detail::AccumulatedHook>> replaced_later_;
  Module& root_;
  HeldState state_;
  TreeGuard tree_;
  SwapLog swaps_;
  const Visit* here_ = nullptr;                 // the module that the walk is at
  std::vector<LazyModuleMixin*> lazy_modules_;  // that are given shapes, some several times
  std::vector<LazyModuleMixin*> waiting_;       // that the walk has met
  std::vector<LoadAction*> changed_;
  bool staging_ = false;
  LoadStateDictOptions options_;
  bool swap_;
  bool from_file_;
  std::function<bool(const Tensor&, const Tensor&)> same_;
  std::deque<Source> sources_;
  std::string path_;
  std::size_t order_ = 0;
  bool shared_ = false;  // whether the walk is in a module that is in several places
  LoadActions actions_;
  std::deque<std::string> keys_;                         // of entries that a hook made or named
  std::unordered_map<const void*, std::uint32_t> ties_;  // cell to the action that counts
  // The bodies of user-defined tensors when their module_load made what is staged.
  std::unordered_map<const LoadAction*, const Body*> made_from_;
  std::vector<TensorSlot*> left_out_;  // nothing is loaded for the name; perhaps for another
  std::vector<Found> missing_, unexpected_;
  std::vector<std::string> unscanned_;  // prefixes
  std::vector<HookPoint> hook_points_, committed_points_;
  std::vector<ExtraState> extra_states_, extra_before_;
  std::vector<std::function<void()>> at_commit_;
  std::vector<std::string> errors_, written_;
  bool user_code_ = false;    // whether hooks have run
  bool staged_code_ = false;  // whether user code may have run since the actions were checked
  bool lost_ = false;         // whether an action has no slot any more
  std::vector<std::string_view> into_meta_;
  IncompatibleKeys result_;
};

// The text of a LoadError.
std::string load_error_text(const Module& root, const LoadError::Problems& problems);

}  // namespace tenon::nn::detail
