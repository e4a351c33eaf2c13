// A program outside the project: it sees the installed headers and libraries, and nothing else.
#include <tenon/extend.h>
#include <tenon/tenon.h>

#include <iostream>

namespace {

// An operator and a tensor class of its own, to see that what users derive from is exported.
struct scale_by {
  using Signature = tenon::Tensor(const tenon::Tensor& self, double factor);
  static constexpr tenon::OpKind kind = tenon::OpKind::pure;
  static tenon::OpInfo info;
};
constinit tenon::OpInfo scale_by::info{"scale_by", scale_by::kind};

class Boxed final : public tenon::Wrapper<Boxed> {
 public:
  explicit Boxed(const tenon::Tensor& payload) : Wrapper(payload), inside(payload) {}
  std::optional<tenon::Value> dispatch(const tenon::OpCall& call) const override {
    if (!call.is<tenon::op::detach>()) return std::nullopt;
    return tenon::make_tensor<Boxed>(inside.detach());
  }
  tenon::Tensor inside;
};

}  // namespace

template <>
struct tenon::Rule<scale_by> {
  static constexpr std::string_view gradient = no_gradient;
  static Layout infer(const Tensor& self, double) { return Layout::packed_like(self.layout()); }
  static void cpu(Tensor& out, const Tensor& self, double factor) {
    const Tensor in = self.contiguous();
    for (std::int64_t i = 0; i < in.numel(); ++i) {
      out.data<float>()[i] = in.data<float>()[i] * static_cast<float>(factor);
    }
  }
};

// Layers whose bases are templates that the library instantiates.
bool layers_work() {
  using namespace tenon;
  nn::Conv2d conv(1, 2, 3);
  nn::ConvTranspose2d back(2, 1, 3);
  nn::LSTM lstm(4, 3);
  nn::GRUCell cell(4, 3);
  optim::AdamW optimizer(conv.parameters());
  back(conv(ones({1, 1, 5, 5}))).sum().backward();
  optimizer.step();
  return std::get<0>(lstm(ones({2, 1, 4}))).size(2) == 3 && cell(ones({1, 4})).size(1) == 3 &&
         !conv.repr().empty();
}

int main() {
  if (!layers_work()) return 1;
  const tenon::Tensor a = tenon::arange(3.0), b = tenon::zeros({2, 2});
  const auto id = a.id();
  tenon::swap_tensors(a, b);
  const tenon::Tensor scaled = tenon::call<scale_by>(b, 2.0);
  const tenon::Tensor parameter = tenon::nn::make_parameter(tenon::make_tensor<Boxed>(scaled));
  std::cout << a << '\n' << scaled << '\n' << tenon::kVersion << '\n';
  bool refused = false;
  try {
    parameter.clone();
  } catch (const tenon::NotImplementedError&) {  // thrown in the library, caught here by type
    refused = true;
  }
  const bool right =
      a.id() == id && scaled.select(0, 2).item<double>() == 4.0 && parameter.as<Boxed>() != nullptr;
  return refused && right ? 0 : 1;
}
