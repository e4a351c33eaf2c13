#include "tenon/nn/lazy_layers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "core/uninitialized.h"
#include "nn/slot_editor.h"
#include "nn/tree_guard.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/ops/factories.h"

namespace tenon::nn {

namespace detail {

namespace {

// Asks for no memory, as it is called at the end of a load.
template <class F>
void for_each_slot(const Module& module, F&& f) {
  for (const auto slots : {module.parameter_slots(), module.buffer_slots()}) {
    for (TensorSlot* slot : slots) {
      if (slot->defined()) f(*slot);
    }
  }
}

}  // namespace

Shape LazySized::shape_for(const TensorSlot& slot, const Shape& incoming,
                           const ShapeOf& shape_of) const {
  // The first of its tensors that says something decides, and those that have their shape already
  // come before those that are loaded; the others have to agree.
  std::int64_t size = kUnknownSize;
  const auto ask = [&](const TensorSlot& other, const std::optional<Shape>& shape) {
    const auto said = shape ? size_in(other.name(), *shape) : std::nullopt;
    if (said && size == kUnknownSize) size = *said;
  };
  for_each_slot(itself(), [&](const TensorSlot& other) {
    if (!is_lazy(other)) ask(other, other.get().shape());
  });
  for_each_slot(itself(), [&](const TensorSlot& other) { ask(other, shape_of(other.name())); });
  return shape_with(slot.name(), size).value_or(incoming);
}

bool LazySized::sizes_from_tensors() {
  std::optional<std::int64_t> size;
  for_each_slot(itself(), [&](const TensorSlot& slot) {
    if (!size && !is_lazy(slot)) size = size_in(slot.name(), slot.get().shape());
  });
  if (size) set_size(*size);
  return size.has_value();
}

namespace {

// While it lives, slots hold other tensors than their own. A slot that user code has given another
// tensor meanwhile, or has removed, is left as it is.
class Replaced {
 public:
  Replaced(const std::vector<std::pair<TensorSlot*, Tensor>>& slots, const TreeGuard& tree)
      : tree_(tree) {
    own_.reserve(slots.size());  // nothing fails below
    for (const auto& [slot, other] : slots) {
      own_.emplace_back(slot, slot->get());
      SlotEditor::rebind(*slot, other);
    }
  }
  ~Replaced() {
    for (auto& [slot, own] : own_) {
      if (tree_.count() != 0 && tree_.was_touched(slot)) continue;
      SlotEditor::rebind(*slot, std::move(own));
    }
  }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  const TreeGuard& tree_;
  std::vector<std::pair<TensorSlot*, Tensor>> own_;
};

}  // namespace

// Values are drawn for all tensors, so that they are the plain layer's, but into others: what was
// loaded stays, and if something fails nothing has happened.
void LazySized::initialize(std::int64_t size) {
  const TreeGuard tree(itself(), "a lazy module found out its sizes");
  std::vector<std::pair<TensorSlot*, Tensor>> open, loaded;
  std::vector<std::pair<Tensor, Tensor>> fresh;  // one for a tensor, whatever names it has
  const NoGradScope no_grad;
  const OrdinaryScope ordinary;
  bool any_loaded = false;
  const auto like = [](const Tensor& own, const Shape& shape) {
    return empty(shape, {.dtype = own.dtype(), .device = own.device()});
  };
  for_each_slot(itself(), [&](TensorSlot& slot) {
    const Tensor& own = slot.get();
    const auto shape = shape_with(slot.name(), size);
    if (is_lazy(own)) {
      if (!shape) return;
      auto found = std::find_if(fresh.begin(), fresh.end(),
                                [&](const auto& made) { return made.first.is(own); });
      if (found == fresh.end()) found = fresh.emplace(found, own, like(own, *shape));
      open.emplace_back(&slot, found->second);
      return;
    }
    loaded.emplace_back(&slot, Tensor());
    if (!shape) return;
    any_loaded = true;
    const auto known = size_in(slot.name(), own.shape());
    if (known && *known != size) {
      throw ValueError(concat("The ", size_name(), " inferred from input: ", size,
                              " is not equal to ", size_name(), " from self.", slot.name(), ": ",
                              *known));
    }
  });
  if (open.empty()) return set_size(size);
  // Counts are drawn, too, if nothing else was loaded.
  if (!any_loaded) loaded.clear();
  for (auto& [slot, other] : loaded) other = like(slot->get(), slot->get().shape());
  try {
    set_size(size);
    if (size != 0) {
      const Replaced other_loaded(loaded, tree), other_open(open, tree);
      reset();  // warnings, and overridden functions: user code
    } else {
      // PyTorch draws nothing, and what there is (a bias) keeps what was in its memory.
      for (const auto& [own, made] : fresh) made.zero_();
    }
    tree.check();
    for (const auto& [own, made] : fresh) prepare_materialize(own, made);
  } catch (...) {
    tree.check();  // nothing of it is touched if it is gone
    set_size(0);
    sizes_from_tensors();
    throw;
  }
  for (const auto& [own, made] : fresh) materialize_as(own, made);
}

std::int64_t lazy_channels(const Module& layer, const Tensor& input, std::size_t dims,
                           std::int64_t groups) {
  const auto rank = static_cast<std::size_t>(input.dim());
  if (rank != dims + 1 && rank != dims + 2) {
    throw ShapeError(concat("Expected ", dims + 1, "D (unbatched) or ", dims + 2,
                            "D (batched) input to ", layer.type_name(),
                            ", but got input of size: ", Value(input.shape()).repr()));
  }
  const std::int64_t channels = input.shape()[rank == dims + 2 ? 1 : 0];
  if (channels % groups != 0) {
    throw ValueError(
        concat("in_channels must be divisible by groups, but got ", channels, " and ", groups));
  }
  return channels;
}

void check_out_channels(std::int64_t out_channels, std::int64_t groups) {
  if (out_channels % groups == 0) return;
  throw ValueError(
      concat("out_channels must be divisible by groups, but got ", out_channels, " and ", groups));
}

Shape conv_weight_shape(std::int64_t in, std::int64_t out, std::int64_t groups, bool transposed,
                        const Dims& kernel_size) {
  Shape shape =
      transposed ? Shape{in, out / groups} : Shape{out, in == kUnknownSize ? in : in / groups};
  for (const std::int64_t size : kernel_size) shape.push_back(size);
  return shape;
}

std::optional<std::int64_t> conv_channels_in(const Shape& weight, std::int64_t groups,
                                             bool transposed, std::size_t dims) {
  if (weight.size() != dims + 2) return std::nullopt;
  if (!transposed) return weight[1] * groups;
  if (weight[0] % groups != 0) return std::nullopt;
  return weight[0];
}

}  // namespace detail

LazyLinear::LazyLinear(std::int64_t out, const Options& options)
    : LazyLayer(0, 0, LinearOptions{.bias = false, .device = Device::meta()}) {
  out_features = out;
  const UninitializedParameterOptions like{.device = options.device, .dtype = options.dtype};
  weight = uninitialized_parameter(like);
  if (options.bias) bias = uninitialized_parameter(like);
}

std::int64_t LazyLinear::infer(const Tensor& input) const {
  if (input.dim() == 0) {
    throw ShapeError(
        "input has no dimensions, and in_features is the size of its last one: it should be at "
        "least 1D");
  }
  return input.size(-1);
}
std::string_view LazyLinear::size_name() const { return "in_features"; }
void LazyLinear::set_size(std::int64_t size) { in_features = size; }

std::optional<std::int64_t> LazyLinear::size_in(std::string_view name, const Shape& shape) const {
  if (name != "weight" || shape.size() != 2) return std::nullopt;
  return shape[1];
}

std::optional<Shape> LazyLinear::shape_with(std::string_view name, std::int64_t size) const {
  if (name == "weight") return Shape{out_features, size};
  if (name == "bias") return Shape{out_features};
  return std::nullopt;
}

// Here, so that what they are made of is compiled once.
LazyConv1d::LazyConv1d(std::int64_t out, const Dims& kernel_size_, const Options& options)
    : LazyConvBase(out, kernel_size_, options) {}
LazyConv2d::LazyConv2d(std::int64_t out, const Dims& kernel_size_, const Options& options)
    : LazyConvBase(out, kernel_size_, options) {}
LazyConv3d::LazyConv3d(std::int64_t out, const Dims& kernel_size_, const Options& options)
    : LazyConvBase(out, kernel_size_, options) {}
LazyConvTranspose1d::LazyConvTranspose1d(std::int64_t out, const Dims& kernel_size_,
                                         const Options& options)
    : LazyConvBase(out, kernel_size_, options) {}
LazyConvTranspose2d::LazyConvTranspose2d(std::int64_t out, const Dims& kernel_size_,
                                         const Options& options)
    : LazyConvBase(out, kernel_size_, options) {}
LazyConvTranspose3d::LazyConvTranspose3d(std::int64_t out, const Dims& kernel_size_,
                                         const Options& options)
    : LazyConvBase(out, kernel_size_, options) {}

LazyBatchNorm1d::LazyBatchNorm1d(const BatchNormOptions& options) : LazyNormBase(options) {}
LazyBatchNorm2d::LazyBatchNorm2d(const BatchNormOptions& options) : LazyNormBase(options) {}
LazyBatchNorm3d::LazyBatchNorm3d(const BatchNormOptions& options) : LazyNormBase(options) {}
LazyInstanceNorm1d::LazyInstanceNorm1d(const BatchNormOptions& options) : LazyNormBase(options) {}
LazyInstanceNorm2d::LazyInstanceNorm2d(const BatchNormOptions& options) : LazyNormBase(options) {}
LazyInstanceNorm3d::LazyInstanceNorm3d(const BatchNormOptions& options) : LazyNormBase(options) {}

}  // namespace tenon::nn
