// A clone on its way: which modules and tensors have been copied so far, and which object is being
// copied now, so that slots find the module they belong to.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "nn/shared_storages.h"
#include "nn/tree_guard.h"
#include "tenon/nn/slots.h"
#include "tenon/tensor.h"

namespace tenon::nn::detail {

class CloneRun {
 public:
  // The one of this thread. Error if there is none: somebody copies a module with its constructor.
  static CloneRun& current();

  static std::shared_ptr<Module> clone(const Module& root);
  // A clone that has these tensors themselves, and copies of the others.
  static std::shared_ptr<Module> replica(const Module& root, const std::vector<Tensor>& shared);

  // The module that a slot at `copy` belongs to, if `original` belongs to `owner`: it has the same
  // place in it. Error if the original is not inside the object that is being copied.
  Module* owner_of(const void* copy, const void* original, const Module* owner) const;
  void check_inside(const Module& original) const;
  // A copy whose slots are about to come.
  void begun(const Module& copy) { begun_.insert(&copy); }
  Tensor copy(const Tensor& given);
  std::shared_ptr<Module> copy(const std::shared_ptr<Module>& original);

 private:
  explicit CloneRun(const Module& root);
  ~CloneRun();
  CloneRun(const CloneRun&) = delete;

  std::shared_ptr<Module> copy(const Module& original);
  // After user code: Error if entries of the module have come or gone.
  static void check(const Guard& guard);
  bool is_inside(const void* address) const noexcept;
  Tensor copy_wrapper(const Tensor& original);
  static void copy_attributes(const Tensor& original, const Tensor& copied);

  // Of one tensor: the original is held, so that no other has its cell.
  struct Copied {
    Tensor original, copy;
  };

  TreeGuard tree_;
  Guard* guard_ = nullptr;  // on the module that is being copied
  std::unordered_map<const Module*, std::shared_ptr<Module>> modules_;
  std::unordered_map<const void*, Copied> tensors_;  // by cell
  SharedStorages shared_;
  std::unordered_set<const void*> begun_;
  const std::byte* begin_ = nullptr;  // of the object that is being copied
  std::size_t size_ = 0;
  CloneRun* outer_;
};

}  // namespace tenon::nn::detail
