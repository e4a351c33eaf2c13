// Tensors that are made of several are written if they will be read.
#include "io/pickle/written_composites.h"

#include "io/files.h"
#include "support/matchers.h"
#include "tenon/checkpoint.h"
#include "tenon/save.h"

namespace tenon {
namespace {

// An object with other parts than it had.
Value with(const Value& object, const std::vector<Value::Entry>& changes) {
  std::vector<Value::Entry> entries;
  for (const auto& [key, part] : object.object_state().entries()) {
    const Value* changed = nullptr;
    for (const auto& [name, value] : changes) {
      if (name == key) changed = &value;
    }
    entries.emplace_back(key, changed != nullptr ? *changed : part);
  }
  for (const auto& [name, value] : changes) {
    if (object.object_state().find(name.as_string()) == nullptr) entries.emplace_back(name, value);
  }
  return Value::object(object.object_name(), Value::tuple({}), Value::dict(std::move(entries)));
}

void expect_refused(const Value& object, const char* why) {
  expect_error<ValueError>([&] { save_to_memory(Value::dict({{"a", object}})); }, why);
}

void expect_read(const Value& object) {
  const std::vector<std::byte> bytes = save_to_memory(Value::dict({{"a", object}}));
  EXPECT_EQ(Checkpoint::open(bytes).load().find("a")->object_name(), object.object_name());
}

Value quantized(const Tensor& data, const Shape& size) {
  return Value::object("quantized_tensor", Value::tuple({}),
                       Value::dict({{"data", data},
                                    {"qscheme", "torch.per_tensor_affine"},
                                    {"scale", 0.5},
                                    {"zero_point", 1},
                                    {"size", size}}));
}

Tensor bytes_of_numbers(std::int64_t n, DType dtype) {
  return Tensor(make_ref<Body>(Layout::packed(Shape({n}), dtype, Device::cpu()),
                               Storage::allocate(static_cast<std::size_t>(n))));
}

TEST(WrittenComposites, QuantizedPartsThatDoNotFitAreRefused) {
  const Value plain = quantized(bytes_of_numbers(6, quint8), Shape({6}));
  expect_read(plain);
  const Value channels = Value::object("quantized_tensor", Value::tuple({}),
                                       Value::dict({{"data", bytes_of_numbers(6, quint8)},
                                                    {"qscheme", "torch.per_channel_affine"},
                                                    {"scales", ones({6}, {.dtype = float64})},
                                                    {"zero_points", zeros({6}, {.dtype = int64})},
                                                    {"axis", 0},
                                                    {"size", Shape({6})}}));
  expect_read(channels);
  expect_refused(with(channels, {{"qscheme", "torch.per_tensor_affine"}}), "axis");
  expect_refused(with(plain, {{"qscheme", "torch.per_channel_affine"}}), "axis");
  expect_refused(with(channels, {{"scales", ones({5}, {.dtype = float64})}}), "6 channels");
  expect_refused(with(channels, {{"zero_points", ones({6, 1}, {.dtype = int64})}}), "6 channels");
}

TEST(WrittenComposites, NumbersOfAFewBitsHaveAllTheirBytes) {
  const Tensor six = bytes_of_numbers(6, quint4x2);
  for (const Shape& size : {Shape({12}), Shape({11}), Shape({2, 5}), Shape({3, 2, 2})})
    expect_read(quantized(six, size));
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  for (const Shape& size : {Shape({13}), Shape({7, 1}), Shape({huge})})
    expect_refused(quantized(six, size), "bytes");
  expect_refused(quantized(six, Shape({huge, huge})), "overflow");
  expect_refused(quantized(six.narrow(0, 1, 5), Shape({10})), "one behind the other");
}

TEST(WrittenComposites, SparsePartsThatDoNotFitAreRefused) {
  const Value state = load(fixture("torch-2.14.1/sparse.pt"));
  for (const char* name : {"coo", "csr"}) {
    const Value& sparse = *state.find(name);
    expect_read(sparse);
    expect_refused(with(sparse, {{"values", ones({1, 1, 1})}}), "do not fit");
    expect_refused(with(sparse, {{"size", Shape({-1, 2})}}), "do not fit");
  }
  expect_refused(with(*state.find("coo"), {{"is_coalesced", 3}}), "is_coalesced");
}

TEST(WrittenComposites, SparseIndicesOutsideOfTheirSizesAreRefused) {
  const Value state = load(fixture("torch-2.14.1/sparse.pt"));
  for (const auto& [name, part] :
       {std::pair("coo", "indices"), {"csr", "crow_indices"}, {"csr", "col_indices"}}) {
    const Value& sparse = *state.find(name);
    const Tensor indices = sparse.object_state().find(part)->as_tensor();
    for (const double wrong : {-1.0, 1e6})
      expect_refused(with(sparse, {{part, full_like(indices, wrong)}}), "outside");
    const Tensor repeated = indices.narrow(-1, 0, 1).clone().expand(indices.shape());
    expect_refused(with(sparse, {{part, repeated}}), "repeat");
  }
}

}  // namespace
}  // namespace tenon
