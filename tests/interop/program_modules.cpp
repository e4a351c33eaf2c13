#include "program_modules.h"

#include <utility>

namespace programs {

using namespace tenon;

namespace {

// Two layers with one weight.
class Tied final : public nn::Layer {
 public:
  explicit Tied(std::int64_t n)
      : encoder(this, "encoder", n, n), decoder(this, "decoder", n, n, {.bias = false}) {
    decoder->weight = encoder->weight;
  }
  nn::Child<nn::Linear> encoder, decoder;

 protected:
  Tensor forward(const Tensor& x) override { return decoder(encoder(x)); }
};

// Tensors of its own beside children: a parameter, buffers that are saved and that are not, and
// empty places.
class Block final : public nn::Layer {
 public:
  explicit Block(std::int64_t n)
      : norm(this, "norm", n),
        fc(this, "fc", n, n),
        scale(this, "scale", ones({n})),
        shift(this, "shift", Tensor()),
        seen(this, "seen", zeros({})),
        cache(this, "cache", zeros({n}), {.persistent = false}) {}
  nn::Child<nn::LayerNorm> norm;
  nn::Child<nn::Linear> fc;
  nn::Parameter scale, shift;
  nn::Buffer seen, cache;

 protected:
  Tensor forward(const Tensor& x) override { return fc(norm(x)) * scale; }
};

// Extra state, and a version.
class Counter final : public nn::Layer {
 public:
  explicit Counter(std::int64_t n) : weight(this, "weight", ones({n})), count(n) {}
  std::int64_t version() const override { return 3; }
  std::optional<Value> get_extra_state() const override { return Value(count); }
  void set_extra_state(const Value& state) override { count = state.as_int(); }
  std::string extra_repr() const override { return "count=" + std::to_string(count); }
  nn::Parameter weight;
  std::int64_t count;

 protected:
  Tensor forward(const Tensor& x) override { return x * weight; }
};

Tensor payload(const Tensor& tensor) {
  const auto* scaled = tensor.as<Scaled>();
  return scaled != nullptr ? scaled->elem : tensor;
}

}  // namespace

std::optional<Value> Scaled::dispatch(const OpCall& call) const {
  if (!call.is_any<op::detach, op::to_copy, op::clone>()) return std::nullopt;
  return Value(make_tensor<Scaled>(call.call_with(payload).as_tensor(), scale));
}

std::optional<Tensor> Scaled::module_load(const Tensor& dest, const Tensor& src,
                                          bool assign) const {
  const auto *to = dest.as<Scaled>(), *from = src.as<Scaled>();
  const double factor = to != nullptr ? to->scale : from->scale;
  if (assign || to == nullptr)
    return from != nullptr ? src.detach() : make_tensor<Scaled>(src.detach(), factor);
  return make_tensor<Scaled>(payload(src).detach().to({.dtype = dest.dtype(), .copy = true}),
                             factor);
}

Shape shape_of(const std::string& words) {
  Dims sizes;
  if (words != "-") {
    for (std::size_t at = 0; at < words.size();) {
      const std::size_t end = std::min(words.find('x', at), words.size());
      sizes.push_back(std::stoll(words.substr(at, end - at)));
      at = end + 1;
    }
  }
  return Shape(sizes);
}

Tensor pattern(const Shape& shape, std::int64_t seed) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>((i * (2 * seed + 1) + seed) % 9 - 4) * 0.5);
  return tensor(values, {.device = Device::cpu()}).reshape(shape);
}

std::shared_ptr<nn::Module> make_leaf(const std::string& kind,
                                      const std::vector<std::string>& numbers) {
  const auto n = [&](std::size_t i) -> std::int64_t { return std::stoll(numbers.at(i)); };
  if (kind == "linear") return nn::make<nn::Linear>(n(0), n(1), {.bias = n(2) == 1});
  if (kind == "conv1d") return nn::make<nn::Conv1d>(n(0), n(1), n(2));
  if (kind == "batchnorm") return nn::make<nn::BatchNorm1d>(n(0), {.affine = n(1) == 1});
  if (kind == "layernorm") return nn::make<nn::LayerNorm>(n(0));
  if (kind == "embedding") return nn::make<nn::Embedding>(n(0), n(1));
  if (kind == "dropout") return nn::make<nn::Dropout>(0.5);
  if (kind == "relu") return nn::make<nn::ReLU>();
  if (kind == "tied") return nn::make<Tied>(n(0));
  if (kind == "block") return nn::make<Block>(n(0));
  if (kind == "counter") return nn::make<Counter>(n(0));
  if (kind == "lazylinear") return nn::make<nn::LazyLinear>(n(0));
  if (kind == "lazyconv1d") return nn::make<nn::LazyConv1d>(n(0), n(1));
  if (kind == "lazybatchnorm") return nn::make<nn::LazyBatchNorm1d>();
  if (kind == "parameterlist") {
    auto made = nn::make<nn::ParameterList>();
    for (const std::string& shape : numbers) made->append(zeros(shape_of(shape)));
    return made;
  }
  if (kind == "parameterdict") {
    auto made = nn::make<nn::ParameterDict>();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      made->set(std::string(1, "abc"[i]), zeros(shape_of(numbers[i])));
    return made;
  }
  return nullptr;
}

}  // namespace programs
