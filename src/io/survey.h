// What is in a document, without its data: the tree with tensors on meta, every tensor and storage
// with what the file says of it.
#pragma once

#include <unordered_map>
#include <vector>

#include "io/document.h"
#include "io/sparse.h"

namespace tenon {

class Survey final : private Builder {
 public:
  // FormatError as Document::build.
  explicit Survey(const Document& document);

  const Value& tree() const noexcept { return tree_; }
  // What making it was charged to, for what is made of it.
  ReadMeter meter() const { return meter_; }
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
  // What a tensor of indices may hold: by as many bounds as sparse tensors use it.
  std::vector<IndexBounds> bounds(std::uint32_t number) const {
    std::vector<IndexBounds> out;
    const auto [first, last] = bounds_.equal_range(number);
    for (auto at = first; at != last; ++at) out.push_back(at->second);
    return out;
  }

 private:
  void storage(std::uint32_t number, const StorageRecord& record) override;
  void element_type(std::uint32_t number, DType dtype) override;
  Tensor tensor(const TensorRecord& record) override;
  Tensor parameter(const Tensor& data, bool requires_grad) override;
  Tensor uninitialized(const UninitializedRecord& record) override;
  void sparse(const Value& sparse) override;

  const std::string& file_;
  ReadMeter meter_;
  Value tree_;
  std::vector<StorageRecord> storages_;
  std::unordered_map<std::uint64_t, TensorRecord> records_;  // by the tensors' identities
  std::unordered_map<std::uint64_t, UninitializedRecord> uninitialized_;
  std::unordered_multimap<std::uint32_t, IndexBounds> bounds_;  // by the tensors' numbers
  std::uint32_t made_ = 0;
};

}  // namespace tenon
