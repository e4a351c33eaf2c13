// FileLoad: one load of a checkpoint into a module, in phases. decide.cpp says what becomes of each
// tensor, need.cpp what that takes, stage.cpp does it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "io/support/meter.h"
#include "load/tensor_stream.h"
#include "nn/load_plan.h"
#include "tenon/load_into.h"
#include "tenon/ops/factories.h"

namespace tenon::detail {

using nn::detail::LoadAction;
using nn::detail::LoadPlan;

// A tensor of the file on its way to an action of the plan.
struct LoadItem {
  LoadAction* action;
  Tensor own;         // of the module; its slot may be emptied by user code that the load runs
  Shape shape;        // of that, when this was decided; user code may give it other data
  std::size_t index;  // among the file's tensors
  DType dtype;        // of the result
  Device device;
  LoadStep::How how;
  bool on_meta;  // the module's
  bool ordered;  // the result has the order in memory that the module's has
  Tensor like;   // for threads, which may not look at the module's: an alias of it, if ordered
  Tensor made;   // the result, unless it is copied into place
};

using LoadItems = std::vector<LoadItem*>;

// A user-defined tensor of the file: several tensors there, and one when they are put together.
struct SavedWrapper {
  Tensor stands;  // for it, in the survey
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
  bool swapped;  // the module's becomes it, as it cannot hold what was asked for
};

// Which bytes of the file, and as what. The facts are the file's: a file may have many tensors of
// many dimensions.
struct FilePlace {
  const TensorFacts* facts;
  DType dtype;  // of the result

  friend bool operator<(const FilePlace& a, const FilePlace& b) {
    const auto first = [](const FilePlace& of) {
      const TensorFacts& at = *of.facts;
      return std::tuple(at.storage, at.offset, at.dtype, at.conj, at.neg, of.dtype);
    };
    if (first(a) != first(b)) return first(a) < first(b);
    const TensorFacts &x = *a.facts, &y = *b.facts;
    if (x.shape != y.shape) return std::ranges::lexicographical_compare(x.shape, y.shape);
    return std::ranges::lexicographical_compare(x.stride, y.stride);
  }
};
using SavedWrappers = std::unordered_map<const void*, SavedWrapper>;  // by cell of the survey

class FileLoad {
 public:
  FileLoad(nn::Module& module, const Checkpoint& file, const LoadIntoOptions& options);
  LoadIntoReport run();

 private:
  using How = LoadAction::How;

  // Decide: what becomes of each tensor.

  // The state dict of the file, on meta. A user-defined tensor is one plain tensor there.
  static StateDict surveyed(const Checkpoint& file, const LoadIntoOptions& options,
                            SavedWrappers& wrappers);
  static StateDict incoming(const Checkpoint& file, StateDict state, const LoadIntoOptions& options,
                            const nn::detail::Guard& guard);
  // Hooks have called lazy modules, whose tensors are then as all others.
  void decide_again();
  // Whether one of the file's is given the dtype that is asked for. Not from complex to real, which
  // would lose half of each number.
  bool takes_dtype(DType dtype) const;
  // The file has no shape for it either.
  void decide_lazy(LoadAction& action) const;
  // As load_state_dict(load(...)) would have it, but that tensors on meta, and those of another
  // dtype or device than is asked for, become what is loaded.
  void decide_assembled(LoadAction& action, const SavedWrapper& from);
  void decide(LoadAction& action);
  bool check_replaceable(const LoadItem& item);
  // Tensors that lie over each other in the file are loaded together, so that they still do.
  void find_shared();

  // Need: what is read and made for it.

  // Bytes of a tensor; of a user-defined one, of what it is made of.
  static std::uint64_t bytes_of_parts(const Tensor& tensor);
  // Whether what is loaded with its storage, or mapped, is only what the tensor is copied from.
  bool is_copied_again(const LoadItem& item) const;
  LoadIntoReport describe();
  void check_budget(const LoadIntoReport& report) const;

  // Stage: reads everything that becomes memory of its own, and looks at the rest.

  void stage();
  // After user code, which a progress function is: LoadError if what was decided about is not
  // what it was.
  void check_items();
  void note_other_data();
  // Storages are read whole, which may be more than the bytes that are expected to be told of.
  Value load_only(const std::function<bool(std::string_view)>& wanted, bool mmap,
                  std::uint64_t expected);
  static Tensor loaded_tensor(const Value& tree, const std::string& name);
  // What is wanted as it is in the file is loaded in one go, on all threads.
  void load_unconverted();
  // User-defined tensors are put together by their classes, from parts as they are in the file.
  void load_assembled();
  // Without assign the order in memory is the module's, and what it has memory of its own for
  // shares none.
  Tensor as_the_modules(const LoadItem& item, const Tensor& loaded) const;
  void convert(LoadItem& item);
  void share_twins(const LoadItems& items);
  // A user-defined tensor is given one tensor after another; none is kept longer than it keeps it.
  void hand_over(LoadItem& item);
  // The module's tensor becomes what was made for it.
  void stage_swap(LoadAction& action, const Tensor& own, const Tensor& made);
  void put_into_plan(LoadItem& item);
  // Items that may be read at the same time. Those of one deflated storage are apart from all
  // others, so that it is inflated once.
  std::vector<LoadItems> by_storage(const LoadItems& items) const;
  // Groups in turn, and their items on all threads; each reads one tensor at a time.
  void each(const std::vector<LoadItems>& groups, const std::function<void(LoadItem&)>& f);
  PieceRead tell();
  // So many bytes more, on any thread. The progress function is called on the thread that loads: it
  // may do anything to the module, and guards and the log of swaps are that thread's.
  void count(std::uint64_t bytes);

  // Commit: what goes into memory that is there.

  void copy_into_place();
  void copy_into_place(const LoadItem& item);
  // Once bytes are being written, nobody ends it.
  PieceRead tell_only();

  // For all of them.

  std::uint64_t bytes_in_file(const LoadItem& item) const {
    const TensorFacts& facts = file_.tensors()[item.index];
    return static_cast<std::uint64_t>(facts.shape.numel() * itemsize(facts.dtype));
  }
  bool verifies() const { return options_.verify.value_or(true); }
  bool is_written_at_commit(const LoadItem& item) const;
  // Whether it is loaded with the whole of its storage: because it is wanted as it is, or because
  // others that lie over it are. Not if most of the storage is nobody's.
  bool goes_whole(const LoadItem& item) const;
  bool same_place(std::size_t a, std::size_t b) const {
    const TensorFacts &x = file_.tensors()[a], &y = file_.tensors()[b];
    return x.storage == y.storage && x.offset == y.offset && x.shape == y.shape &&
           x.stride == y.stride && x.dtype == y.dtype && x.conj == y.conj && x.neg == y.neg;
  }
  FilePlace place_of(const LoadItem& item) const {
    return {&file_.tensors()[item.index], item.dtype};
  }
  // Whether the second of two names for the same bytes shares the first one's.
  bool shares_with_twin(const LoadItem& item) const { return options_.assign || item.on_meta; }

  const nn::detail::Guard guard_;  // filters are user code, and come before the plan
  const Checkpoint file_;          // held, whatever becomes of the caller's
  const LoadIntoOptions options_;
  std::optional<Device> device_;  // of the options, with its index
  SavedWrappers wrappers_;
  StateDict surveyed_, incoming_;  // by the file's names; chosen, and by the module's
  LoadPlan plan_;
  std::unordered_map<const void*, std::size_t> places_;  // cell of the survey to place in the file
  std::vector<LoadItem> items_;
  std::vector<Assembled> assembled_;
  std::unordered_set<std::uint32_t> shared_;  // storages that different tensors lie in
  std::unordered_map<std::uint32_t, std::uint64_t> wanted_;  // bytes of storages that are replaced
  std::vector<LoadItems> at_commit_;                         // what is written then
  std::map<FilePlace, LoadItem*> twins_;
  std::mutex mutex_;
  Meter* meter_ = nullptr;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<std::uint64_t> uncounted_ = 0;  // bytes that other threads have read
  Tensor stand_in_ = empty({}, {.device = Device::meta()});
};

}  // namespace tenon::detail
