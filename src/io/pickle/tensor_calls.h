// The calls in a pickle that describe storages and tensors: their arguments, checked, and the
// tensors they stand for.
#pragma once

#include <span>
#include <string_view>

#include "io/pickle/global_names.h"
#include "io/pickle/pickle.h"
#include "io/pickle/rebuild.h"

namespace tenon {

class TensorCalls {
 protected:
  TensorCalls(const Pickle& pickle, StorageFinder& storages, Builder& builder, ReadMeter& meter)
      : pickle_(pickle), storages_(storages), builder_(builder), meter_(meter) {}
  ~TensorCalls() = default;

  struct Arguments {
    const PickleNode& call;
    std::span<const PickleItem> items;
  };
  static Meaning meaning(const PickleNode& global) { return meaning_from(global.count); }
  Role role(const PickleItem& global) const;
  [[noreturn]] void wrong(const Arguments& args, std::string_view what) const;
  void need(const Arguments& args, std::size_t least, std::size_t most) const;
  std::int64_t integer(const Arguments& args, const PickleItem& item, std::string_view what) const;
  bool boolean(const Arguments& args, const PickleItem& item, std::string_view what) const;
  const PickleNode& node(const Arguments& args, const PickleItem& item, PickleNode::Kind kind,
                         std::string_view what) const;
  // A tuple of integers, or a torch.Size of one.
  Dims dims(const Arguments& args, const PickleItem& item, std::string_view what) const;
  void read_dims(const Arguments& args, const PickleItem& item, std::string_view what,
                 Dims& out) const;
  DType dtype(const Arguments& args, const PickleItem& item) const;
  struct StorageUse {
    std::uint32_t number;
    DType dtype;
    bool untyped;
    // Tensors lie in this part of it: elements before it, and bytes.
    std::int64_t offset;
    std::uint64_t bytes;
  };
  std::string_view text_of(const PickleNode& at, const PickleItem& item,
                           std::string_view what) const;
  std::int64_t count_of(const PickleNode& at, const PickleItem& item) const;
  StorageUse storage(const PickleNode& id);
  // All of a storage that is a value itself: one after another, of the storage's dtype.
  Tensor of_storage(const PickleNode& id);
  // The tensor, whose elements have to be in the part of the storage that is used, where its offset
  // is counted from.
  Tensor tensor(const Arguments& args, TensorRecord& record, const StorageUse& use);
  Tensor tensor(const Arguments& args, const TensorRecord& record);  // without a storage
  void check(const Arguments& args, const TensorRecord& record, std::uint64_t bytes) const;
  // The tensor of a record that has been checked and charged.
  Tensor built(const TensorRecord& record);
  // A tensor of so many dimensions will be made.
  void charge_tensor(std::size_t dimensions);
  // The hooks are always empty; the metadata may say that elements stand for their conjugate.
  void hooks(const Arguments& args, const PickleItem& item) const;
  void metadata(const Arguments& args, const PickleItem& item, TensorRecord& record) const;
  // The first four arguments of all calls that make a tensor of a storage.
  TensorRecord strided(const Arguments& args, const StorageUse& use) const;
  StorageUse storage_of(const Arguments& args);
  Tensor of_tensor(const Arguments& args, Role role);
  Tensor of_meta(const Arguments& args);
  // Several numbers are in a byte, and every row begins with a byte of its own: the bytes are what
  // can be a tensor.
  void as_bytes(const Arguments& args, TensorRecord& record) const;

  const Pickle& pickle_;
  StorageFinder& storages_;
  Builder& builder_;
  ReadMeter& meter_;
};

}  // namespace tenon
