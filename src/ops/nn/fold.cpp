// Blocks of images as columns, and back.
#include "tenon/ops/fold.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "core/element_copy.h"
#include "kernels/element.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/pool_plan.h"
#include "ops/support/gradients.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"

namespace tenon {

constinit OpInfo op::im2col::info{"im2col", kind};
constinit OpInfo op::col2im::info{"col2im", kind};

namespace {

// An image, and the blocks that slide over it.
struct Blocks {
  std::int64_t height, width;
  Dims kernel, dilation, padding, stride;
  std::int64_t rows, columns;  // of blocks
};

// The product of sizes. ShapeError if it is too large for any tensor.
std::int64_t product(std::string_view op, std::initializer_list<std::int64_t> sizes) {
  std::optional<std::int64_t> all = 1;
  for (const std::int64_t size : sizes) {
    if (all) all = checked_mul(*all, size);
  }
  if (all) return *all;
  throw ShapeError(
      concat(op, ": sizes whose product is too large: ", bracketed(Shape(Dims(sizes)))));
}

Blocks blocks_of(std::string_view op, std::int64_t height, std::int64_t width, const Dims& kernel,
                 const Dims& dilation, const Dims& padding, const Dims& stride) {
  const auto check = [&](const char* name, const Dims& numbers, std::int64_t least) {
    for (const std::int64_t number : numbers) {
      if (number >= least) continue;
      throw ValueError(concat(
          op, ": ", name, least == 0 ? " should be non-negative" : " should be greater than zero",
          ", but got ", numbers));
    }
  };
  check("kernel_size", kernel, 1);
  check("dilation", dilation, 1);
  check("padding", padding, 0);
  check("stride", stride, 1);
  const auto count = [&](std::int64_t size, std::size_t d) {
    // Numbers up to this one can be added up without overflow.
    constexpr std::int64_t kMost = std::int64_t{1} << 60;
    const auto reach = checked_mul(dilation[d], kernel[d] - 1);
    const std::int64_t largest =
        std::max({size, padding[d], stride[d], kernel[d], reach.value_or(kMost + 1)});
    if (largest > kMost || size < -kMost) {
      throw ShapeError(concat(op, ": sizes that are too large: spatial size (", height, ", ", width,
                              "), kernel_size=", kernel, ", dilation=", dilation,
                              ", padding=", padding, ", stride=", stride));
    }
    const std::int64_t room = size + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
    return room < 0 ? (room - stride[d] + 1) / stride[d] + 1 : room / stride[d] + 1;
  };
  Blocks blocks{height,  width,  kernel,           dilation,
                padding, stride, count(height, 0), count(width, 1)};
  if (blocks.rows < 1 || blocks.columns < 1) {
    throw ShapeError(concat(op, ": Given input with spatial size (", height, ", ", width,
                            "), kernel_size=", kernel, ", dilation=", dilation,
                            ", padding=", padding, ", stride=", stride,
                            ", calculated shape of the array of sliding blocks as (", blocks.rows,
                            ", ", blocks.columns, "), but its components must be at least one."));
  }
  return blocks;
}

// Of one channel: calls each(image row, first column, column of blocks' row, blocks) for every row
// of every place in the kernel.
template <class T, class F>
void for_rows(const Blocks& b, T* columns, F&& each) {
  for (std::int64_t kh = 0; kh < b.kernel[0]; ++kh) {
    for (std::int64_t kw = 0; kw < b.kernel[1]; ++kw) {
      for (std::int64_t row = 0; row < b.rows; ++row, columns += b.columns) {
        each(row * b.stride[0] - b.padding[0] + kh * b.dilation[0],
             kw * b.dilation[1] - b.padding[1], columns);
      }
    }
  }
}

template <class T>
void to_columns(const Blocks& b, const T* image, T* columns) {
  for_rows(b, columns, [&](std::int64_t h, std::int64_t first, T* to) {
    if (h < 0 || h >= b.height) {
      std::memset(to, 0, static_cast<std::size_t>(b.columns) * sizeof(T));
      return;
    }
    const T* from = image + h * b.width;
    for (std::int64_t i = 0, w = first; i < b.columns; ++i, w += b.stride[1])
      to[i] = w >= 0 && w < b.width ? from[w] : T{};
  });
}

template <class T>
void from_columns(const Blocks& b, const T* columns, T* image) {
  for_rows(b, columns, [&](std::int64_t h, std::int64_t first, const T* from) {
    if (h < 0 || h >= b.height) return;
    T* to = image + h * b.width;
    for (std::int64_t i = 0, w = first; i < b.columns; ++i, w += b.stride[1]) {
      if (w >= 0 && w < b.width) to[w] += from[i];
    }
  });
}

std::int64_t grain(const Blocks& b) {
  constexpr std::int64_t kWorth = 1 << 15;
  const std::int64_t each = b.kernel[0] * b.kernel[1] * b.rows * b.columns;
  return std::max<std::int64_t>(1, kWorth / std::max<std::int64_t>(each, 1));
}

}  // namespace

template <>
struct Rule<op::im2col> {
  static constexpr std::string_view gradient = "Im2ColBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, const Dims& kernel,
                       const Dims& dilation, const Dims& padding, const Dims& stride) {
    const Shape& shape = g.shape(0);
    const Dims sizes{shape[shape.size() - 2], shape[shape.size() - 1]};
    g.set(0,
          fold(grad, sizes, kernel, {.dilation = dilation, .padding = padding, .stride = stride}));
  }
  static Layout infer(const Tensor& self, const Dims& kernel, const Dims& dilation,
                      const Dims& padding, const Dims& stride) {
    const bool batch = self.dim() == 4;
    const Shape& shape = self.shape();
    bool fits = batch || self.dim() == 3;
    for (std::size_t d = batch ? 1 : 0; fits && d < shape.size(); ++d) fits = shape[d] != 0;
    if (!fits) {
      throw ShapeError(
          concat("unfold: Expected 3D or 4D (batch mode) tensor with possibly 0 batch "
                 "size and other non-zero dimensions for input, but got: ",
                 bracketed(shape)));
    }
    const Blocks b =
        blocks_of("unfold", self.size(-2), self.size(-1), kernel, dilation, padding, stride);
    Shape out{product("unfold", {self.size(-3), kernel[0], kernel[1]}),
              product("unfold", {b.rows, b.columns})};
    // What one image becomes, also where there is none.
    static_cast<void>(product("unfold", {out[0], out[1]}));
    if (batch) out.insert(0, self.size(0));
    return Layout::packed(out, self.dtype(), self.device());
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& kernel, const Dims& dilation,
                  const Dims& padding, const Dims& stride) {
    if (out.numel() == 0) return;
    const Blocks b =
        blocks_of("unfold", self.size(-2), self.size(-1), kernel, dilation, padding, stride);
    const Tensor in = self.contiguous();
    const std::int64_t channels = in.numel() / (b.height * b.width);
    const std::int64_t column = kernel[0] * kernel[1] * b.rows * b.columns;
    with_element_of(itemsize(in.dtype()), [&]<class E>() {
      const E* from = static_cast<const E*>(in.data_ptr());
      E* to = static_cast<E*>(out.data_ptr());
      parallel_for(0, channels, grain(b), [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t c = first; c < last; ++c)
          to_columns(b, from + c * b.height * b.width, to + c * column);
      });
    });
  }
};

template <>
struct Rule<op::col2im> {
  static constexpr std::string_view gradient = "Col2ImBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Dims& /*output_size*/, const Dims& kernel, const Dims& dilation,
                       const Dims& padding, const Dims& stride) {
    g.set(0, unfold(grad, kernel, {.dilation = dilation, .padding = padding, .stride = stride}));
  }
  static Layout infer(const Tensor& self, const Dims& output_size, const Dims& kernel,
                      const Dims& dilation, const Dims& padding, const Dims& stride) {
    const Shape& shape = self.shape();
    const bool batch = self.dim() == 3;
    bool fits = batch || self.dim() == 2;
    for (std::size_t d = batch ? 1 : 0; fits && d < shape.size(); ++d) fits = shape[d] != 0;
    if (!fits) {
      throw ShapeError(
          concat("fold: Expected 2D or 3D (batch mode) tensor for input with possibly "
                 "0 batch size and non-zero dimensions for input, but got: ",
                 bracketed(shape)));
    }
    if (!is_floating_point(self.dtype()) && !is_complex(self.dtype()))
      not_implemented("fold", self.dtype());
    const Blocks b =
        blocks_of("fold", output_size[0], output_size[1], kernel, dilation, padding, stride);
    const std::int64_t places = product("fold", {kernel[0], kernel[1]});
    const std::int64_t number = product("fold", {b.rows, b.columns});
    if (self.size(-2) % places != 0) {
      throw ShapeError(concat("fold: Expected size of input's dimension ", self.dim() - 2,
                              " to be divisible by the product of kernel_size, but got ",
                              bracketed(shape), " and kernel_size=", kernel));
    }
    if (self.size(-1) != number) {
      throw ShapeError(concat("fold: Given output_size=", output_size, ", kernel_size=", kernel,
                              ", dilation=", dilation, ", padding=", padding, ", stride=", stride,
                              ", expected size of input's dimension ", self.dim() - 1,
                              " to match the calculated number of sliding blocks ", b.rows, " * ",
                              b.columns, " = ", number, ", but got ", bracketed(shape)));
    }
    Shape out{self.size(-2) / places, output_size[0], output_size[1]};
    if (batch) out.insert(0, self.size(0));
    return Layout::packed(out, self.dtype(), self.device());
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& output_size, const Dims& kernel,
                  const Dims& dilation, const Dims& padding, const Dims& stride) {
    if (out.numel() == 0) return;
    if (out.dtype() == float16 || out.dtype() == bfloat16) {
      Tensor wide = empty(out.shape(), {.dtype = float32, .device = Device::cpu()});
      cpu(wide, self.to(float32), output_size, kernel, dilation, padding, stride);
      return copy_tensor(out, wide);
    }
    const Blocks b =
        blocks_of("fold", output_size[0], output_size[1], kernel, dilation, padding, stride);
    const Tensor in = self.contiguous();
    out.variable_data().zero_();
    const std::int64_t channels = out.numel() / (b.height * b.width);
    const std::int64_t column = kernel[0] * kernel[1] * b.rows * b.columns;
    visit(out.dtype(), [&]<class T>() {
      if constexpr (std::floating_point<T> || is_std_complex<T>) {
        const T* from = static_cast<const T*>(in.data_ptr());
        T* to = static_cast<T*>(out.data_ptr());
        parallel_for(0, channels, grain(b), [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t c = first; c < last; ++c)
            from_columns(b, from + c * column, to + c * b.height * b.width);
        });
      }
    });
  }
};

Tensor unfold(const Tensor& input, const Dims& kernel_size, const FoldFunctionOptions& options) {
  return call<op::im2col>(input, expanded("unfold", "kernel_size", kernel_size, 2),
                          expanded("unfold", "dilation", options.dilation, 2),
                          expanded("unfold", "padding", options.padding, 2),
                          expanded("unfold", "stride", options.stride, 2));
}
Tensor fold(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
            const FoldFunctionOptions& options) {
  return call<op::col2im>(input, expanded("fold", "output_size", output_size, 2),
                          expanded("fold", "kernel_size", kernel_size, 2),
                          expanded("fold", "dilation", options.dilation, 2),
                          expanded("fold", "padding", options.padding, 2),
                          expanded("fold", "stride", options.stride, 2));
}

}  // namespace tenon
