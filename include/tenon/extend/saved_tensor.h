// SavedTensor: a tensor that a node of the graph keeps for its backward pass.
//
// It keeps the data, not the tensor: an alias with the same storage and version counter and without
// history, so that the graph never holds itself. While an input is saved it cannot be swapped,
// because the graph would not see it; nor can what it is a view of, whose data this is.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/autograd.h"
#include "tenon/detail/api.h"
#include "tenon/extend/body.h"
#include "tenon/tensor.h"

namespace tenon {

class TENON_API SavedTensor {
 public:
  enum class Role : std::uint8_t { input, output };

  SavedTensor() noexcept = default;
  // An output is saved by the node that makes it, which unpack() then hands back as the tensor's
  // history.
  SavedTensor(const Tensor& tensor, Role role, std::uint32_t output = 0);
  ~SavedTensor();
  SavedTensor(SavedTensor&& other) noexcept = default;
  SavedTensor& operator=(SavedTensor&& other) noexcept;

  // The tensor as it was saved, history included (`self` is the node that saved it). AutogradError,
  // naming the operator, if it was written to in the meantime.
  Tensor unpack(std::string_view op, Ref<Node> self = {}) const;

 private:
  Ref<Body> alias_;
  Ref<detail::SaveCounter> counter_;       // of the tensor that was saved; null for an output
  Ref<detail::SaveCounter> base_counter_;  // of what that is a view of, if it is one
  Edge edge_;
  std::uint64_t version_ = 0;
  std::uint32_t output_ = 0;
  Role role_ = Role::input;
};

}  // namespace tenon
