#include "io/pickle/tensor_attributes.h"

#include <algorithm>
#include <iterator>

namespace tenon {

namespace {

// The data descriptors of torch.Tensor in PyTorch 2.14, and "names" of earlier ones. Sorted.
constexpr std::string_view kOwn[] = {"H",
                                     "T",
                                     "_backward_hooks",
                                     "_base",
                                     "_cdata",
                                     "_grad",
                                     "_grad_fn",
                                     "_has_symbolic_sizes_strides",
                                     "_post_accumulate_grad_hooks",
                                     "_python_dispatch",
                                     "_version",
                                     "data",
                                     "device",
                                     "dtype",
                                     "grad",
                                     "grad_dtype",
                                     "grad_fn",
                                     "imag",
                                     "is_cpu",
                                     "is_cuda",
                                     "is_ipu",
                                     "is_leaf",
                                     "is_maia",
                                     "is_meta",
                                     "is_mkldnn",
                                     "is_mps",
                                     "is_mtia",
                                     "is_nested",
                                     "is_quantized",
                                     "is_sparse",
                                     "is_sparse_csr",
                                     "is_vulkan",
                                     "is_xla",
                                     "is_xpu",
                                     "itemsize",
                                     "layout",
                                     "mH",
                                     "mT",
                                     "name",
                                     "names",
                                     "nbytes",
                                     "ndim",
                                     "output_nr",
                                     "real",
                                     "requires_grad",
                                     "retains_grad",
                                     "shape",
                                     "volatile"};
static_assert(std::is_sorted(std::begin(kOwn), std::end(kOwn)));

}  // namespace

bool is_tensors_own(std::string_view name) noexcept {
  return name.starts_with("__") || std::binary_search(std::begin(kOwn), std::end(kOwn), name);
}

}  // namespace tenon
