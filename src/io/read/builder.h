// What makes the tensors of a document that is read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "io/read/records.h"
#include "tenon/value.h"

namespace tenon {

// Makes storages and tensors while a document is built: on meta to survey it, over mapped or
// allocated memory to load it. Formats call it, and so does what rebuilds the tree of a pickle.
class Builder {
 public:
  virtual ~Builder() = default;
  // About so many storages will come.
  virtual void expect(std::size_t /*storages*/) {}
  // A storage of the document's, by number. Called once for each that is used, before its tensors.
  virtual void storage(std::uint32_t number, const StorageRecord& record) = 0;
  // The elements of an untyped storage are of this dtype, as one of its tensors says.
  virtual void element_type(std::uint32_t number, DType dtype) = 0;
  // The geometry has been checked.
  virtual Tensor tensor(const TensorRecord& record) = 0;
  // Another tensor over the same memory, which is a parameter.
  virtual Tensor parameter(const Tensor& data, bool requires_grad) = 0;
  virtual Tensor uninitialized(const UninitializedRecord& record) = 0;
  // A sparse tensor that was made of such tensors.
  virtual void sparse(const Value& /*sparse*/) {}
};

}  // namespace tenon
