// What losses have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/tensor.h"

namespace tenon {

enum class Reduction : std::uint8_t { none, mean, sum };

// ValueError for another word.
Reduction reduction_of(std::string_view text);
// Losses of elements made into the loss.
Tensor reduced(const Tensor& losses, std::string_view reduction);
// The gradient of each of `count` losses, from that of the loss they were made into.
Tensor unreduced(const Tensor& grad, std::string_view reduction, std::int64_t count);
// "torch.Size([2, 3])"
std::string size_text(const Tensor& tensor);
// NotImplementedError unless it is a floating dtype there is arithmetic for.
void check_loss_dtype(std::string_view op, DType dtype);
// AutogradError if a gradient of this argument would be recorded: losses have none for weights.
void refuse_gradient(std::string_view op, std::string_view argument,
                     const std::optional<Tensor>& tensor);

}  // namespace tenon
