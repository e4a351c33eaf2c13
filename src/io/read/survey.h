// What is in a document, without its data: the tree with tensors on meta, every tensor and storage
// with what the file says of it.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "io/formats/document.h"
#include "io/pickle/sparse.h"

namespace tenon {

class Survey final : private Builder {
 public:
  // Charged to the meter, which outlives it. FormatError as Document::build.
  Survey(const Document& document, ReadMeter& meter);

  const Value& tree() const noexcept { return tree_; }
  const std::vector<StorageRecord>& storages() const noexcept { return storages_; }
  // What a tensor of the tree was made from. Its `number` counts the tensors the document makes,
  // which are the same every time it is built.
  const TensorRecord& record(const Tensor& tensor) const { return records_.at(tensor.id()); }
  // The same of one without a shape.
  const UninitializedRecord& uninitialized_record(const Tensor& tensor) const {
    return uninitialized_.at(tensor.id());
  }
  std::uint32_t tensors() const noexcept { return made_; }
  std::size_t uninitialized() const noexcept { return uninitialized_.size(); }
  // What a tensor of indices may hold: different bounds, if several sparse tensors use it.
  std::span<const IndexBounds> bounds(std::uint32_t number) const {
    const auto found = bounds_.find(number);
    return found == bounds_.end() ? std::span<const IndexBounds>() : found->second;
  }

 private:
  void storage(std::uint32_t number, const StorageRecord& record) override;
  void element_type(std::uint32_t number, DType dtype) override;
  Tensor tensor(const TensorRecord& record) override;
  Tensor parameter(const Tensor& data, bool requires_grad) override;
  Tensor uninitialized(const UninitializedRecord& record) override;
  void sparse(const Value& sparse) override;
  Storage memory_of(const TensorRecord& record);

  const std::string& file_;
  ReadMeter& meter_;
  Value tree_;
  std::vector<StorageRecord> storages_;
  std::vector<Storage> memory_;                              // on meta, for the tensors of each
  std::unordered_map<std::uint64_t, TensorRecord> records_;  // by the tensors' identities
  std::unordered_map<std::uint64_t, UninitializedRecord> uninitialized_;
  std::unordered_map<std::uint32_t, std::vector<IndexBounds>> bounds_;  // by the tensors' numbers
  std::uint32_t made_ = 0;
};

}  // namespace tenon
