// Questions that shape rules ask about several tensors.
#pragma once

#include <span>
#include <string_view>

#include "tenon/tensor.h"

namespace tenon {

// The device all of them are on; DeviceError naming two that differ.
Device same_device(std::string_view op, std::span<const Tensor> tensors);
// The dtype all can be converted to.
DType common_dtype(std::span<const Tensor> tensors);

// Whether expand() makes a tensor of one shape one of the other, without adding to what is there.
bool broadcasts_to(const Shape& from, const Shape& to);

// One number stands for all n dimensions. Other lists are as they are given.
Dims expanded(const Dims& given, std::size_t n);
// The same; ValueError naming the option unless that makes n.
Dims expanded(std::string_view op, std::string_view option, const Dims& given, std::size_t n);

// NotImplementedError: the operator has nothing for elements of that dtype.
[[noreturn]] void not_implemented(std::string_view op, DType dtype);

// DTypeError if elements of one dtype cannot become those of the other, which is so of opaque ones.
// Rules say it before a kernel would: meta tensors have none.
void check_convertible(DType from, DType to);

// DTypeError: elements of that dtype are opaque, and item() has no number for them.
[[noreturn]] void no_item(DType dtype);

// Error if several elements are one place in memory, as expand() makes them: a write would not know
// which of them it writes.
void check_written_once(const Layout& layout);

// Of tensors on the CPU: whether they may have bytes in common, whether element i of one is element
// i of the other, byte for byte, and the first without the second.
bool may_share_memory(const Tensor& a, const Tensor& b);
bool same_elements(const Layout& a, const Layout& b);
bool shares_memory_partly(const Tensor& a, const Tensor& b);

// NotImplementedError with PyTorch's words if src has no data and dst would need it.
void check_copy_out_of_meta(std::string_view op, Device src, Device dst);

}  // namespace tenon
