// What Module::load_state_dict takes, gives, and shows to those who take part in a load.
//
// A load has four phases. Collect: each module, from the root down, runs its load pre-hooks and its
// load step (Module::load_from_state_dict), which say through a LoadContext what is to happen and
// change nothing. Judge: shapes, dtypes and whether a swap can be; then the load post-hooks,
// children before parents, which may edit the lists of keys; then strictness. Stage: everything
// that allocates or is somebody else's code. Commit: pointers and bytes, nothing that fails. Up to
// the commit the module is untouched, and an error has every problem that was found.
//
// PyTorch has each tensor loaded before the next module's hooks run. Here nothing is in place
// before the commit, so user code that takes a tensor out, replaces it or swaps it after the load
// has decided about it would send the loaded value elsewhere: LoadError, with nothing loaded.
// Before that (a pre-hook, for its own module and those in it) and afterwards (a committed hook) it
// may.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/shape.h"
#include "tenon/state_dict.h"
#include "tenon/value.h"

namespace tenon::nn {

class Module;
class TensorSlot;

struct LoadStateDictOptions {
  // Keys must be exactly the module's.
  bool strict = true;
  // The tensors of the state dict become the module's, with their dtype, device and memory, instead
  // of being copied into it. Parameters are then other tensors than before (an optimizer made
  // earlier does not see them), unless loads swap (tenon/nn/conversion.h).
  bool assign = false;
  // A tensor of another shape is left out and reported (IncompatibleKeys::mismatched), instead of
  // being an error.
  bool skip_mismatched = false;
  // Whether tensors may be on meta afterwards. If not, those that would be are an error.
  bool allow_meta = true;
  // Whether two names of one tensor may come with different values, of which the last one counts.
  bool allow_tie_conflicts = true;
};

struct TENON_API IncompatibleKeys {
  struct Mismatch {
    std::string key;
    Shape checkpoint;
    Shape module;
  };
  std::vector<std::string> missing_keys;     // of the module, not in the state dict
  std::vector<std::string> unexpected_keys;  // of the state dict, not in the module
  std::vector<Mismatch> mismatched;          // left out with skip_mismatched
  // Names of tensors that another name, coming later, had another value for.
  std::vector<std::string> tie_conflicts;

  // Whether everything fitted.
  bool empty() const noexcept {
    return missing_keys.empty() && unexpected_keys.empty() && mismatched.empty();
  }
  // "<All keys matched successfully>", or PyTorch's text of the two lists.
  std::string repr() const;
};

TENON_API std::ostream& operator<<(std::ostream& out, const IncompatibleKeys& keys);

namespace detail {
class LoadPlan;
struct Visit;
}  // namespace detail

// A module's part of a load: what comes in under its prefix, and what is to become of it. Edits are
// seen by this module and those in it, not by others, and never by the caller's state dict.
class TENON_API LoadContext {
 public:
  LoadContext(detail::LoadPlan& plan, detail::Visit& visit) noexcept : plan_(plan), visit_(visit) {}
  LoadContext(const LoadContext&) = delete;
  LoadContext& operator=(const LoadContext&) = delete;

  Module& module() const noexcept;
  // "layers.0.", and "" for the root. Keys are whole: they begin with it.
  const std::string& prefix() const noexcept;
  const LoadStateDictOptions& options() const noexcept;

  // What comes in.

  std::vector<std::string> keys() const;          // those under the prefix, in order
  const Value* find(std::string_view key) const;  // null if there is none
  // What the module noted when it was saved ({"version": 2}); None if nothing.
  Value local_metadata() const;
  std::optional<std::int64_t> version() const;

  // Edits.

  void set(std::string_view key, Value value);
  bool erase(std::string_view key);
  // Keeps the value and its place. False if there is no such key.
  bool rename(std::string_view from, std::string_view to);

  // What is to happen.

  // The usual: every parameter and persistent buffer of the module takes what is under its name;
  // what has no name here is unexpected; extra state goes to set_extra_state.
  void load_own();
  // One tensor of the module takes this value, under that name in messages.
  void load(TensorSlot& slot, const Value& value, std::string_view key);
  // Runs when everything else is in place. It must not fail.
  void at_commit(std::function<void()> action);
  void missing(std::string key);
  void unexpected(std::string key);
  void error(std::string sentence);

 private:
  detail::LoadPlan& plan_;
  detail::Visit& visit_;
};

}  // namespace tenon::nn
