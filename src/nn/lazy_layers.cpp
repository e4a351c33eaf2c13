#include "tenon/nn/lazy_layers.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "core/uninitialized.h"
#include "nn/slot_editor.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/factories.h"

namespace tenon::nn {

namespace detail {

namespace {

std::vector<TensorSlot*> slots_of(const Module& module) {
  std::vector<TensorSlot*> slots;
  for (TensorSlot* slot : module.parameter_slots()) slots.push_back(slot);
  for (TensorSlot* slot : module.buffer_slots()) slots.push_back(slot);
  std::erase_if(slots, [](const TensorSlot* slot) { return !slot->defined(); });
  return slots;
}

}  // namespace

Shape LazySized::shape_for(const TensorSlot& slot, const Shape& incoming,
                           const ShapeOf& shape_of) const {
  // The first of its tensors that says something decides; the others have to agree.
  std::int64_t size = kUnknownSize;
  for (const TensorSlot* other : slots_of(itself())) {
    const auto shape = shape_of(other->name());
    const auto said = shape ? size_in(other->name(), *shape) : std::nullopt;
    if (!said) continue;
    size = *said;
    break;
  }
  return shape_with(slot.name(), size).value_or(incoming);
}

bool LazySized::sizes_from_tensors() {
  for (const TensorSlot* slot : slots_of(itself())) {
    if (is_lazy(*slot)) continue;
    if (const auto size = size_in(slot->name(), slot->get().shape())) {
      set_size(*size);
      return true;
    }
  }
  return true;
}

namespace {

// While it lives, slots hold other tensors than their own.
class Replaced {
 public:
  explicit Replaced(const std::vector<std::pair<TensorSlot*, Tensor>>& slots) {
    for (const auto& [slot, other] : slots) {
      own_.emplace_back(slot, slot->get());
      SlotEditor::rebind(*slot, other);
    }
  }
  ~Replaced() {
    for (auto& [slot, own] : own_) SlotEditor::rebind(*slot, std::move(own));
  }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  std::vector<std::pair<TensorSlot*, Tensor>> own_;
};

}  // namespace

// Values are drawn for all tensors, so that they are the plain layer's, but into others: what was
// loaded stays, and if something fails nothing has happened.
void LazySized::initialize(std::int64_t size) {
  std::vector<std::pair<TensorSlot*, Tensor>> open, loaded;
  const NoGradScope no_grad;
  const OrdinaryScope ordinary;
  bool any_loaded = false;
  for (TensorSlot* slot : slots_of(itself())) {
    const Tensor& own = slot->get();
    if (is_lazy(own)) {
      const Shape shape = shape_with(slot->name(), size).value_or(Shape{size});
      open.emplace_back(slot, empty(shape, {.dtype = own.dtype(), .device = own.device()}));
      continue;
    }
    loaded.emplace_back(slot, Tensor());
    if (!shape_with(slot->name(), size)) continue;
    any_loaded = true;
    const auto known = size_in(slot->name(), own.shape());
    if (known && *known != size) {
      throw ValueError(concat("The ", size_name(), " inferred from input: ", size,
                              " is not equal to ", size_name(), " from self.", slot->name(), ": ",
                              *known));
    }
  }
  if (open.empty()) return set_size(size);
  // Counts are drawn, too, if nothing else was loaded.
  if (!any_loaded) loaded.clear();
  for (auto& [slot, other] : loaded) other = empty_like(slot->get().detach());
  try {
    set_size(size);
    {
      const Replaced other_loaded(loaded), other_open(open);
      reset();
    }
    for (const auto& [slot, fresh] : open) prepare_materialize(slot->get(), fresh);
  } catch (...) {
    set_size(0);
    sizes_from_tensors();
    throw;
  }
  for (const auto& [slot, fresh] : open) materialize_as(slot->get(), fresh);
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

std::int64_t LazyLinear::infer(const Tensor& input) const { return input.size(-1); }
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

}  // namespace tenon::nn
