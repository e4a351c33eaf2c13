// Operators with tensors of every dtype, and of every two dtypes: the CPU and meta give the same
// dtype and shape, or refuse with the same error and text. NoOperatorIsForgotten compares the
// operators that are tried with those that the sources define.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "ops/meta_dtypes.h"
#include "support/matchers.h"
#include "tenon/extend.h"
#include "tenon/ops/arithmetic_ops.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

std::vector<DType> every_dtype() {
  std::vector<DType> all;
  for (std::size_t i = 0; i < kDTypeCount; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

// A matrix of ones: a divisor, an index and a probability that nothing refuses for its value. Where
// elements are opaque, all bytes are 1.
Tensor sample(DType dtype) {
  if (!is_opaque(dtype)) return ones({4, 4}, {.dtype = dtype});
  return ones({16 * itemsize(dtype)}, {.dtype = uint8}).view(dtype).view({4, 4});
}

template <class Run>
std::string outcome_of(const Run& run) {
  try {
    const Tensor result = run();
    return repr(result.dtype()) + " " + result.shape().repr();
  } catch (const Error& error) {
    return std::string(typeid(error).name()) + ": " + error.what();
  }
}

// The same, or what the CPU answers depends on elements, which meta says it has not.
bool agree(const std::string& cpu, const std::string& meta) {
  if (cpu == meta) return true;
  return cpu.starts_with("torch.") && meta.find("NotImplementedError") != std::string::npos &&
         (meta.find("on meta do not say") != std::string::npos ||
          meta.find("they have no data") != std::string::npos ||
          meta.find("a meta tensor has none") != std::string::npos ||
          meta.find("as it has no data") != std::string::npos);
}

void expect_agreement(const Named<OfOne>& operators) {
  for (const DType dtype : every_dtype()) {
    const Tensor x = sample(dtype), there = x.to(Device::meta());
    for (const auto& [name, run] : operators) {
      EXPECT_PRED2(agree, outcome_of([&] { return run(x); }),
                   outcome_of([&] { return run(there); }))
          << name << " of " << repr(dtype);
    }
  }
}

// Whether a function that writes into `out` is tried with an argument of that dtype. What it says
// of an `out` depends on the dtype of its result alone: of one function it is tried with all of
// them.
bool is_tried(const std::string& name, DType argument) {
  if (!name.ends_with("_out") || name == "add_out" || name == "abs_out") return true;
  for (const DType one : {float64, float32, bfloat16, float8_e5m2, int64, uint8, bool_, complex64})
    if (argument == one) return true;
  return false;
}

void expect_agreement(const Named<OfTwo>& operators) {
  for (const DType first : every_dtype()) {
    const Tensor x = sample(first), x_there = x.to(Device::meta());
    for (const DType second : every_dtype()) {
      const Tensor y = sample(second), y_there = y.to(Device::meta());
      for (const auto& [name, run] : operators) {
        if (!is_tried(name, first)) continue;
        EXPECT_PRED2(agree, outcome_of([&] { return run(x, y); }),
                     outcome_of([&] { return run(x_there, y_there); }))
            << name << " of " << repr(first) << " and " << repr(second);
      }
    }
  }
}

using Factory = std::function<Tensor(DType, Device)>;

Named<Factory> factories() {
  return {
      {"empty", [](DType t, Device d) { return empty({2}, {.dtype = t, .device = d}); }},
      {"zeros", [](DType t, Device d) { return zeros({2}, {.dtype = t, .device = d}); }},
      {"ones", [](DType t, Device d) { return ones({2}, {.dtype = t, .device = d}); }},
      {"full 1.5", [](DType t, Device d) { return full({2}, 1.5, {.dtype = t, .device = d}); }},
      {"full 300", [](DType t, Device d) { return full({2}, 300, {.dtype = t, .device = d}); }},
      {"arange", [](DType t, Device d) { return arange(5, {.dtype = t, .device = d}); }},
      {"arange 1.5", [](DType t, Device d) { return arange(1.5, {.dtype = t, .device = d}); }},
      {"eye", [](DType t, Device d) { return eye(3, {.dtype = t, .device = d}); }},
      {"linspace", [](DType t, Device d) { return linspace(0, 1, 3, {.dtype = t, .device = d}); }},
      {"rand", [](DType t, Device d) { return rand({2}, {.dtype = t, .device = d}); }},
      {"randn", [](DType t, Device d) { return randn({2}, {.dtype = t, .device = d}); }},
      {"randint", [](DType t, Device d) { return randint(5, {2}, {.dtype = t, .device = d}); }},
      {"zeros_like",
       [](DType t, Device d) { return zeros_like(empty({2}, {.dtype = t, .device = d})); }},
      {"ones_like",
       [](DType t, Device d) { return ones_like(empty({2}, {.dtype = t, .device = d})); }},
      {"full_like",
       [](DType t, Device d) { return full_like(empty({2}, {.device = d}), 1, {.dtype = t}); }},
      {"fill_", [](DType t, Device d) { return empty({2}, {.dtype = t, .device = d}).fill_(1); }},
      {"zero_", [](DType t, Device d) { return empty({2}, {.dtype = t, .device = d}).zero_(); }},
  };
}

TEST(MetaDtypes, FactoriesAgreeWithTheCpuForEveryDtype) {
  for (const DType dtype : every_dtype()) {
    for (const auto& [name, make] : factories()) {
      EXPECT_EQ(outcome_of([&] { return make(dtype, Device::cpu()); }),
                outcome_of([&] { return make(dtype, Device::meta()); }))
          << name << " of " << repr(dtype);
    }
    // As in PyTorch, which writes zeros as bytes.
    EXPECT_EQ(zeros({2}, {.dtype = dtype, .device = Device::meta()}).dtype(), dtype);
  }
}

TEST(MetaDtypes, FunctionsOfElementsAgreeWithTheCpuForEveryDtype) {
  expect_agreement(functions_of_elements());
}

TEST(MetaDtypes, FunctionsOfTwoElementsAgreeWithTheCpuForEveryPairOfDtypes) {
  expect_agreement(functions_of_two_elements());
}

TEST(MetaDtypes, OtherOperatorsAgreeWithTheCpuForEveryDtype) {
  expect_agreement(operators_of_one());
}

TEST(MetaDtypes, ConversionsAndOperatorsOfTwoTensorsAgreeWithTheCpuForEveryPairOfDtypes) {
  expect_agreement(operators_of_two());
}

TEST(MetaDtypes, OperatorsOfLayersAgreeWithTheCpuForEveryDtype) {
  expect_agreement(layers_of_one());
}

TEST(MetaDtypes, OperatorsOfLayersAgreeWithTheCpuForEveryPairOfDtypes) {
  expect_agreement(layers_of_two());
}

// Every operator there is, and how many have that name: what the sources define.
std::map<std::string, std::size_t> operators_in_the_sources() {
  std::map<std::string, std::size_t> all;
  const std::regex defined(R"re(constinit OpInfo [\w:]+::info\{"(\w+)")re");
  const std::filesystem::path sources = std::filesystem::path(TENON_SOURCE_DIR) / "src";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(sources)) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (std::sregex_iterator at(text.begin(), text.end(), defined), end; at != end; ++at)
      ++all[(*at)[1]];
  }
  for (const auto& forms : op::unary_infos) {
    for (const OpInfo& info : forms) ++all[std::string(info.name())];
  }
  for (const auto& forms : op::binary_infos) {
    for (const OpInfo& info : forms) ++all[std::string(info.name())];
  }
  return all;
}

std::map<std::string, std::set<const OpInfo*>> called;

// Notes every operator that it meets, also those that another one is made of.
class NotingTensor final : public Wrapper<NotingTensor> {
 public:
  explicit NotingTensor(const Tensor& payload) : Wrapper(payload), elem(payload) {}
  std::optional<Value> dispatch(const OpCall& call) const override {
    called[std::string(call.name())].insert(&call.op());
    if (call.op().kind() == OpKind::composite) return std::nullopt;
    return wrapped(call.call_with([](const Tensor& t) {
      const auto* noting = t.as<NotingTensor>();
      return noting != nullptr ? noting->elem : t;
    }));
  }

  Tensor elem;

 private:
  static Value wrapped(const Value& value) {
    if (value.is_tensor()) return Value(make_tensor<NotingTensor>(value.as_tensor()));
    if (value.kind() != Value::Kind::list && value.kind() != Value::Kind::tuple) return value;
    std::vector<Value> items;
    for (const Value& item : value.items()) items.push_back(wrapped(item));
    return value.kind() == Value::Kind::list ? Value::list(std::move(items))
                                             : Value::tuple(std::move(items));
  }
};

// Operators that are not tried, with the reason.
std::map<std::string, std::string> not_tried() {
  std::map<std::string, std::string> all;
  const auto add = [&](const char* reason, std::initializer_list<const char*> names) {
    for (const char* name : names) all.emplace(name, reason);
  };
  add("a gradient: backward calls it with what the operator was given, and what that has made",
      {"_adaptive_avg_pool_backward", "_avg_pool_backward", "_edge_pad_backward",
       "_max_pool_backward", "_put_strided", "_recurrent_layer_backward", "_softmax_backward_data",
       "_upsample_backward", "grid_sampler_backward", "multilabel_margin_slopes",
       "native_batch_norm_backward", "native_group_norm_backward", "native_layer_norm_backward"});
  add("in the table of functions, and behind no name",
      {"angle_", "fmax_", "fmin_", "isfinite_", "isinf_", "isnan_", "logaddexp2_", "logaddexp_",
       "maximum_", "minimum_", "signbit_"});
  // These are tried: only a NotingTensor does not see them.
  add("of a conjugate: imag", {"_neg_view"});
  add("its noise is no user-defined tensor: rrelu training", {"rrelu_with_noise"});
  return all;
}

TEST(MetaDtypes, NoOperatorIsForgotten) {
  called.clear();
  const auto run = [](const auto& one) {
    try {
      (void)one();
    } catch (const Error&) {
      // Of another dtype it is called.
    }
  };
  const auto noting = [](DType dtype) { return make_tensor<NotingTensor>(sample(dtype)); };
  for (const DType first : {float32, int64, bool_, complex64}) {
    for (const auto& list : {functions_of_elements(), operators_of_one(), layers_of_one()}) {
      for (const auto& entry : list) run([&] { return entry.second(noting(first)); });
    }
    for (const auto& list : {functions_of_two_elements(), operators_of_two(), layers_of_two()}) {
      for (const DType second : {float32, int64, bool_}) {
        for (const auto& entry : list)
          run([&] { return entry.second(noting(first), noting(second)); });
      }
    }
  }
  const std::map<std::string, std::string> left_out = not_tried();
  const std::map<std::string, std::size_t> all = operators_in_the_sources();
  EXPECT_GT(all.size(), 400U);
  for (const auto& [name, count] : all) {
    const std::size_t tried = called[name].size();
    if (left_out.contains(name)) {
      EXPECT_EQ(tried, 0U) << name << " is tried: it need not be in not_tried()";
    } else {
      EXPECT_GE(tried, count) << name << " is not tried over all dtypes: add it to a list, or say "
                              << "in not_tried() why not";
    }
  }
  for (const auto& [name, reason] : left_out) EXPECT_TRUE(all.contains(name)) << name;
  called.clear();
}

}  // namespace
}  // namespace tenon
