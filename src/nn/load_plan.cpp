#include "nn/load_plan.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/prefetch.h"
#include "base/text.h"
#include "base/visible.h"
#include "base/warn.h"
#include "base/what_happened.h"
#include "core/body_editor.h"
#include "core/uninitialized.h"
#include "nn/extras.h"
#include "nn/slot_editor.h"
#include "ops/support/state.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"
#include "tenon/nn/lazy.h"
#include "tenon/nn/module.h"
#include "tenon/ops/ops.h"

namespace tenon::nn::detail {

namespace {

using How = LoadAction::How;

// Of more names or problems than these, only the first are shown.
constexpr std::size_t kAll = 200, kFirst = 20;
// Bytes of a name and of a line of a problem. LoadError's lists have all of them, as they are.
constexpr std::size_t kShownName = 200, kShownLine = 2000;

// "a", "b"
std::string quoted(const std::vector<std::string>& names, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += concat(i == 0 ? "\"" : ", \"", visible(names[i], kShownName), "\"");
  return text;
}

// Sentences with names in them, which may be those of a file. Line by line.
std::string safe(std::string_view sentences) {
  std::string text;
  while (true) {
    const std::size_t end = std::min(sentences.find('\n'), sentences.size());
    text += visible(sentences.substr(0, end), kShownLine);
    if (end == sentences.size()) return text;
    text += '\n';
    sentences.remove_prefix(end + 1);
  }
}

// "torch.Size([2, 3])"
std::string size_text(const Shape& shape) { return Value(shape).repr(); }

// Of modules that the walk will come to soon: the slot, the module, and its tensors' cells and
// bodies, each when what leads to it has come.
void fetch_siblings(std::span<ChildSlot* const> slots, std::size_t at) {
  if (at + 8 >= slots.size()) return;
  __builtin_prefetch(slots[at + 8]);
  if (const Module* module = slots[at + 6]->module().get()) fetch_ahead(module, 512);
  if (const Module* module = slots[at + 4]->module().get()) {
    for (const TensorSlot* slot : module->parameter_slots())
      __builtin_prefetch(slot->get().cell().get());
  }
  if (const Module* module = slots[at + 2]->module().get()) {
    for (const TensorSlot* slot : module->parameter_slots()) {
      if (slot->defined()) fetch_ahead(slot->get().cell()->body.get(), sizeof(Body));
    }
  }
}

// Whether a copy might be: not if it goes from one packed tensor into another of the same dtype.
bool may_be_refused(const Tensor& to, const Tensor& from) {
  return !to.is_contiguous() || to.dtype() != from.dtype() || to.storage().is(from.storage());
}

}  // namespace

LoadPlan::LoadPlan(Module& root, const StateDict& state, const LoadStateDictOptions& options,
                   bool from_file)
    : root_(root),
      state_(state),
      tree_(root, "it was loaded"),
      options_(options),
      swap_(get_conversion_policy() == ConversionPolicy::swap),
      from_file_(from_file) {
  actions_.reserve(state.size());
}

LoadPlan::~LoadPlan() = default;

void LoadPlan::missing(std::string key) { missing_.push_back({order_, std::move(key)}); }
void LoadPlan::unexpected(std::string key) { unexpected_.push_back({order_, std::move(key)}); }

// Collect.

void LoadPlan::collect() {
  visit(root_, sources_.emplace_back(state_));
  // Every name of a tensor is led by its last one, however many there are.
  for (std::size_t i = actions_.size(); i-- > 0;)
    actions_[i].leader = actions_[actions_[i].leader].leader;
  find_unexpected();
  if (lost_) fail();
}

void LoadPlan::visit(Module& module, Source& source) {
  const std::size_t prefix_length = path_.size();
  Guard guard(module, "load_state_dict() was running");
  Visit here{&module, &source, &path_};
  here.guard = &guard;
  const Visit* const outer = std::exchange(here_, &here);
  const bool outer_shared = std::exchange(shared_, shared_ || SlotEditor::places(module) > 1);
  {
    LoadContext context(*this, here);
    const ModuleExtras* extras = SlotEditor::extras(module);
    if (extras != nullptr && !extras->load_pre.empty()) {
      run_guarded(module, "a load hook", [&] { extras->load_pre.run(guard, module, context); });
      note_changes();
    }
    // No guard here for the usual step, which throws only if memory runs out.
    try {
      SlotEditor::load_from_state_dict(module, context);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (...) {
      run_guarded(module, "the load step", [] { throw; });
    }
    note_changes();
    path_.resize(prefix_length);
  }
  here_ = outer;
  // A tie, or an earlier call, may have given all its tensors their shapes behind its back.
  if (LazyModuleMixin* lazy = SlotEditor::lazy(module); lazy != nullptr && lazy->is_waiting())
    waiting_.push_back(lazy);
  if (!here.scanned) unscanned_.push_back(path_);
  ++order_;
  guard.begin(Guard::kChildren);
  for (std::size_t i = 0; i < module.child_slots().size(); ++i) {
    fetch_siblings(module.child_slots(), i);
    const ChildSlot* slot = module.child_slots()[i];
    Module* child = slot->module().get();
    if (child == nullptr) continue;
    path_ += slot->name();
    path_ += '.';
    visit(*child, *here.source);
    guard.check(Guard::kChildren);
    path_.resize(prefix_length);
  }
  shared_ = outer_shared;
  const ModuleExtras* extras = SlotEditor::extras(module);
  if (extras != nullptr && !extras->load_post.empty())
    hook_points_.push_back({&module, path_, order_});
  if (extras != nullptr && !extras->load_committed.empty())
    committed_points_.push_back({&module, path_, order_});
}

Source& LoadPlan::editable(Visit& visit) {
  if (!visit.source->is_for(*visit.prefix))
    visit.source = &sources_.emplace_back(*visit.source, *visit.prefix);
  return *visit.source;
}

Value LoadPlan::local_metadata(const Visit& visit) const {
  const Value& metadata = state_->metadata();
  if (metadata.kind() != Value::Kind::dict) return {};
  const std::string& prefix = *visit.prefix;
  const Value* notes =
      metadata.find(Value(prefix.empty() ? prefix : prefix.substr(0, prefix.size() - 1)));
  return notes == nullptr ? Value() : *notes;
}

void LoadPlan::load_own(Visit& visit) {
  visit.scanned = true;
  Source& source = *visit.source;
  const std::size_t prefix_length = path_.size();
  const auto load_slot = [&](TensorSlot& slot) {
    if (!slot.defined()) return;
    if (!slot.persistent()) return note_left_out(slot);
    if (!visit.taken.empty() &&
        std::find(visit.taken.begin(), visit.taken.end(), &slot) != visit.taken.end())
      return;
    path_ += slot.name();
    if (const StateDict::Entry* entry = source.use(path_)) {
      path_.resize(prefix_length);
      // What a hook made may be gone when the key is wanted.
      take(slot, entry->second, source.is_copy() ? keep(entry->first) : entry->first);
    } else {
      note_left_out(slot);
      missing(path_);
      path_.resize(prefix_length);
    }
  };
  // Classes of tensors, and of lazy modules, may have code of their own for what is asked of them.
  visit.guard->begin(Guard::kParameters);
  for (std::size_t i = 0; i < visit.module->parameter_slots().size(); ++i) {
    load_slot(*visit.module->parameter_slots()[i]);
    visit.guard->check(Guard::kParameters);
  }
  visit.guard->begin(Guard::kBuffers);
  for (std::size_t i = 0; i < visit.module->buffer_slots().size(); ++i) {
    load_slot(*visit.module->buffer_slots()[i]);
    visit.guard->check(Guard::kBuffers);
  }

  // Of a module that takes none it is like any other key nobody asked for.
  const bool takes_extra = visit.module->takes_extra_state();
  visit.guard->check();
  if (!takes_extra) return;
  path_ += kExtraState;
  if (const StateDict::Entry* extra = source.use(path_)) {
    extra_states_.push_back({visit.module, extra->second});
  } else {
    missing(path_);
  }
  path_.resize(prefix_length);
}

std::string LoadPlan::failure(const LoadAction& action, const std::string& what) const {
  // A tensor without a shape is swapped for one that was copied into.
  const bool swaps = swap_ || (action.how == How::swap && !action.lazy);
  return concat("While ", swaps ? "swapping" : "copying", " the parameter named \"", action.key,
                "\", whose dimensions in the model are ",
                action.slot != nullptr && is_there(action.slot)
                    ? size_text(action.slot->get().layout().shape)
                    : std::string("unknown, as it has left its place,"),
                " and whose dimensions in the checkpoint are ",
                size_text(action.value.layout().shape), ", an exception occurred : (", Value(what),
                ",).");
}

void LoadPlan::take(TensorSlot& slot, const Value& value, std::string_view key) {
  const Tensor& own = slot.get();
  if (!value.is_tensor()) {
    return error(concat("While copying the parameter named \"", key,
                        "\", expected torch.Tensor or Tensor-like object from checkpoint but "
                        "received <class '",
                        value.type_name(), "'>"));
  }
  LoadAction action{&slot,
                    key,
                    value.as_tensor(),
                    {},
                    How::copy,
                    false,
                    static_cast<std::uint32_t>(actions_.size())};
  Tensor& incoming = action.value;
  if (is_uninitialized(own) || is_uninitialized(incoming)) [[unlikely]]
    return take_lazy(slot, incoming, key);
  // Files from before there were tensors without dimensions have one dimension of one element.
  const bool one_element = own.dim() == 0 && incoming.dim() == 1 && incoming.numel() == 1;
  if (one_element && !from_file_) {
    const std::size_t seen = tree_.count();
    incoming = incoming[0].detach();
    check_slot(slot, seen);  // of a class with an operator of its own
  }
  if (own.shape() != incoming.shape() && !one_element)
    return mismatched(slot, key, incoming.shape(), own.shape());
  if (!from_file_ && !decide(action)) return;
  // A tensor that nothing else holds has no other name, unless its module has.
  if (shared_ || own.cell()->use_count() > 1) note_tie(action.leader, own);
  actions_.push_back(std::move(action));
}

void LoadPlan::mismatched(TensorSlot& slot, std::string_view key, const Shape& incoming,
                          const Shape& shape) {
  if (options_.skip_mismatched) {
    result_.mismatched.push_back({std::string(key), incoming, shape});
    return note_left_out(slot);
  }
  error(concat("size mismatch for ", key, ": copying a param with shape ", size_text(incoming),
               " from checkpoint, the shape in current model is ", size_text(shape), "."));
}

bool LoadPlan::decide(LoadAction& action) {
  const Tensor &own = action.slot->get(), &incoming = action.value;
  const bool own_meta = own.device().is_meta(), incoming_meta = incoming.device().is_meta();
  const bool dense = !own.body().is_wrapper() && !incoming.body().is_wrapper();
  if (!dense && is_uninitialized(own)) return decide_lazy(action);
  if (options_.assign) {
    action.how = swap_ ? How::swap : How::rebind;
    // A user-defined tensor may make something else of it when it is swapped.
    if (own.is_parameter() && own.requires_grad() && !is_differentiable(incoming.dtype()) &&
        (dense || !swap_)) {
      error(failure(action,
                    "Only Tensors of floating point and complex dtype can require gradients"));
      return false;
    }
    if (dense && can_renew(action)) action.how = How::renew;
  } else if (own_meta && !incoming_meta && (dense || !swap_)) {
    into_meta_.push_back(action.key);
    action.how = How::nothing;
  } else if (dense && own_meta) {
    action.how = How::nothing;
  } else if (dense && incoming_meta) {
    error(failure(action, "Cannot copy out of meta tensor; no data!"));
    return false;
  } else if (swap_) {
    action.how = dense ? How::copy_and_swap : How::swap;
  }
  if (dense && (action.how == How::copy || action.how == How::copy_and_swap) &&
      may_be_refused(own, incoming)) {
    try {
      check_copy(own, incoming);
    } catch (const Error& refused) {
      error(failure(action, refused.what()));
      return false;
    }
  }
  return true;
}

void LoadPlan::note_tie(std::uint32_t index, const Tensor& own) {
  const auto [found, is_new] = ties_.emplace(own.cell().get(), index);
  if (is_new) return;
  // Every earlier name follows the last one.
  actions_[found->second].leader = index;
  found->second = index;
}

// Judge.

void LoadPlan::find_unexpected() {
  std::vector<std::string> keys;
  for (const Source& source : sources_) {
    for (const std::uint32_t place : source.unused()) keys.push_back(source.entry(place).first);
  }
  if (keys.empty()) return;
  // How far the walk had come at each prefix; where a shared module has two, both count.
  std::unordered_map<std::string, std::size_t> order;
  for (const auto& [name, module] : root_.named_modules({.remove_duplicate = false}))
    order.emplace(name.empty() ? name : concat(name, "."), order.size());
  const std::unordered_set<std::string_view> unscanned(unscanned_.begin(), unscanned_.end());
  std::vector<Found> others;
  for (std::string& key : keys) {
    // The module that the key is unexpected for is the last on its way.
    std::size_t end = 0;
    bool below_null = false;
    const Module* module = &root_;
    for (;;) {
      const std::size_t dot = key.find('.', end);
      if (dot == std::string::npos) break;
      const ChildSlot* child =
          SlotEditor::find(*module, std::string_view(key).substr(end, dot - end)).child;
      if (child == nullptr) break;
      below_null = !child->defined();
      if (below_null) break;
      module = child->module().get();
      end = dot + 1;
    }
    // What is below a null child is known, and nobody's.
    const std::string prefix = key.substr(0, end);
    if (below_null || unscanned.contains(prefix)) continue;
    // A module looks for its extra state first.
    const bool is_extra = std::string_view(key).substr(end) == kExtraState;
    (is_extra ? unexpected_ : others).push_back({order.at(prefix), std::move(key)});
  }
  std::move(others.begin(), others.end(), std::back_inserter(unexpected_));
}

bool LoadPlan::differs(const LoadAction& earlier, const LoadAction& later) const {
  const Tensor &a = earlier.value, &b = later.value;
  if (a.is(b) || (is_uninitialized(a) && is_uninitialized(b))) return false;
  if (same_) return !same_(a, b);
  const bool dense = !a.body().is_wrapper() && !b.body().is_wrapper();
  if (dense && a.storage().is(b.storage()) && a.storage_offset() == b.storage_offset() &&
      a.stride() == b.stride() && a.dtype() == b.dtype())
    return false;
  if (!dense || a.is_meta() || b.is_meta() || a.dtype() != b.dtype() || a.device() != b.device())
    return true;
  const NoGradScope no_grad;
  if (!a.is_cpu()) return !equal(a, b);
  // By their bytes: a NaN is what it is, and every dtype has them.
  const Tensor x = a.resolve_conj().resolve_neg().contiguous();
  const Tensor y = b.resolve_conj().resolve_neg().contiguous();
  return x.numel() != 0 &&
         std::memcmp(x.data_ptr(), y.data_ptr(), static_cast<std::size_t>(x.nbytes())) != 0;
}

void LoadPlan::check_meta() {
  if (options_.allow_meta) return;
  // What tensors are given, by cell: on meta or not. The last name counts.
  std::unordered_map<const void*, bool> given;
  for (const LoadAction& action : actions_) {
    if (action.how != How::rebind && action.how != How::swap && action.how != How::renew) continue;
    const Tensor& own = action.slot->get();
    const bool on_meta =
        is_uninitialized(own) && !options_.assign ? own.is_meta() : action.value.is_meta();
    given[own.cell().get()] = !from_file_ && on_meta && (options_.assign || own.is_meta());
  }
  std::vector<std::string> left;
  const NamedOptions every_name{.remove_duplicate = false};
  for (const auto& tensors :
       {root_.named_parameters(every_name), root_.named_buffers(every_name)}) {
    for (const auto& [name, tensor] : tensors) {
      const auto found = given.find(tensor.cell().get());
      if (found == given.end() ? tensor.is_meta() : found->second) left.push_back(name);
    }
  }
  if (left.empty()) return;
  const std::size_t shown = std::min(left.size(), kFirst);
  std::string names = quoted(left, shown);
  if (left.size() > shown) names += concat(" and ", left.size() - shown, " more");
  error(concat(left.size(), left.size() == 1 ? " tensor" : " tensors",
               " would be on meta, without data: ", names,
               ". Load with .assign = true what the state dict has, and make the others real with "
               "to_empty() first"));
}

void LoadPlan::warn_about_meta() {
  if (into_meta_.empty()) return;
  const std::string others =
      into_meta_.size() == 1 ? std::string() : concat(" and ", into_meta_.size() - 1, " more");
  warn(concat(
      "for ", into_meta_[0], others,
      ": copying from a non-meta parameter in the checkpoint to a meta parameter in the "
      "current model, which is a no-op. (Did you mean to pass .assign = true to assign items "
      "in the state dictionary to their corresponding key in the module instead of copying "
      "them in place?)"));
  user_code_ = true;  // the handler's
}

void LoadPlan::judge() {
  for (const LoadAction& action : actions_) {
    const LoadAction& leader = actions_[action.leader];
    if (&leader == &action) continue;
    // Without a shape of its own it takes the one that comes, of which there can be only one.
    if (is_uninitialized(action.slot->get()) && !is_uninitialized(action.value) &&
        !is_uninitialized(leader.value) && action.value.shape() != leader.value.shape()) {
      error(concat("size mismatch for ", action.key, ": it comes with shape ",
                   size_text(action.value.shape()), ", and \"", leader.key,
                   "\", which is the same tensor in the module, with ",
                   size_text(leader.value.shape()), "."));
      continue;
    }
    if (!differs(action, leader)) continue;
    result_.tie_conflicts.emplace_back(action.key);
    if (!options_.allow_tie_conflicts) {
      error(concat("\"", action.key, "\" and \"", leader.key,
                   "\" are one tensor in the module, and come with different values"));
    }
  }
  check_meta();
  // As PyTorch has it: root-level keys first, then each child's. In each place missing ones are
  // in order already; unexpected ones were found at the end.
  for (std::size_t i = 0; i < unexpected_.size(); ++i) unexpected_[i].number = i;
  std::sort(unexpected_.begin(), unexpected_.end(), [](const Found& a, const Found& b) {
    return a.order != b.order ? a.order < b.order : a.number < b.number;
  });
  // Hooks see the lists as they are when the walk has come to the end of their module.
  auto next_missing = missing_.begin();
  auto next_unexpected = unexpected_.begin();
  const auto advance = [&](std::size_t order) {
    for (; next_missing != missing_.end() && next_missing->order < order; ++next_missing)
      result_.missing_keys.push_back(std::move(next_missing->key));
    for (; next_unexpected != unexpected_.end() && next_unexpected->order < order;
         ++next_unexpected)
      result_.unexpected_keys.push_back(std::move(next_unexpected->key));
  };
  for (const HookPoint& point : hook_points_) {
    advance(point.order);
    path_ = point.prefix;
    const Guard guard(*point.module, "a load post-hook ran");
    run_guarded(*point.module, "a load post-hook", [&] {
      SlotEditor::extras(*point.module)->load_post.run(guard, *point.module, result_);
    });
    note_changes();
  }
  advance(order_ + 1);
  if (!errors_.empty() ||
      (options_.strict && (!result_.missing_keys.empty() || !result_.unexpected_keys.empty())))
    fail();
  if (from_file_ && user_code_) check_again();
  warn_about_meta();
}

void LoadPlan::fail(std::vector<std::string> written) {
  tree_.check();
  LoadError::Problems problems;
  if (options_.strict) {
    problems.missing_keys = result_.missing_keys;
    problems.unexpected_keys = result_.unexpected_keys;
  }
  problems.errors = errors_;
  problems.written = std::move(written);
  const std::string text = load_error_text(root_, problems);
  throw LoadError(text, std::move(problems));
}

std::string load_error_text(const Module& root, const LoadError::Problems& problems) {
  std::string text = concat("Error(s) in loading state_dict for ", root.type_name(), ":");
  const auto keys = [&](const char* begin, const std::vector<std::string>& names,
                        const char* field) {
    if (names.empty()) return;
    text += concat("\n\t", begin);
    const std::size_t shown = names.size() > kAll ? kFirst : names.size();
    text += quoted(names, shown);
    if (shown < names.size()) {
      text += concat(" and ", names.size() - shown, " more of ", names.size(),
                     " (all are in LoadError::", field, "())");
    }
    text += ". ";
  };
  keys("Missing key(s) in state_dict: ", problems.missing_keys, "missing_keys");
  keys("Unexpected key(s) in state_dict: ", problems.unexpected_keys, "unexpected_keys");
  const std::size_t shown = problems.errors.size() > kAll ? kFirst : problems.errors.size();
  for (std::size_t i = 0; i < shown; ++i) text += concat("\n\t", safe(problems.errors[i]));
  if (shown < problems.errors.size()) {
    text += concat("\n\tand ", problems.errors.size() - shown, " more of ", problems.errors.size(),
                   " problems (all are in LoadError::errors())");
  }
  if (!problems.written.empty()) {
    text += concat("\n\tThe load is torn: ", problems.written.size(),
                   problems.written.size() == 1 ? " tensor" : " tensors",
                   " had been written before this, the first being \"",
                   visible(problems.written.front(), kShownName),
                   "\" (all are in LoadError::written()). Load again before the module is used");
  }
  return text;
}

}  // namespace tenon::nn::detail
