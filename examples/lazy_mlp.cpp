// A network that finds out its sizes: the LazyMLP of PyTorch's documentation. It prints the same
// before and after its first call, is moved before it knows its sizes, saved with and without them,
// and shaped by a checkpoint alone.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "tenon/tenon.h"

using namespace tenon;

namespace {

// [network]
class LazyMLP final : public nn::Layer {
 public:
  nn::Child<nn::LazyLinear> fc1{this, "fc1", 10};
  nn::Child<nn::ReLU> relu1{this, "relu1"};
  nn::Child<nn::LazyLinear> fc2{this, "fc2", 1};
  nn::Child<nn::ReLU> relu2{this, "relu2"};

 protected:
  Tensor forward(const Tensor& input) override { return relu2(fc2(relu1(fc1(input)))); }
};
// [network]

// [user]
class Scale : public nn::Layer {
 public:
  nn::Parameter scale{this, "scale"};

 protected:
  Tensor forward(const Tensor& x) override { return x * scale; }
};

class LazyScale final : public nn::Lazy<Scale> {
 public:
  LazyScale() { scale = uninitialized_parameter(); }

  void initialize_parameters(const Tensor& input) override {
    if (!has_uninitialized_params()) return;
    materialize(scale, {input.size(-1)});
    nn::init::ones_(scale);
  }
};
// [user]

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "lazy_mlp_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const std::string open_file = folder + "/open.pth", full_file = folder + "/full.pth";

  // [first_call]
  LazyMLP lazy_mlp;
  optim::SGD optimizer(lazy_mlp.parameters(), {.lr = 0.01});  // it will see them get their shapes
  lazy_mlp.to(Device::meta()).to(Device::cpu(), float64);     // moved and converted beforehand
  std::cout << lazy_mlp << "\n";
  save(lazy_mlp.state_dict(), open_file);

  lazy_mlp(ones({10, 10}, {.dtype = float64}));
  std::cout << lazy_mlp << "\n";
  // [first_call]
  std::cout << lazy_mlp.fc1->weight->shape() << " " << repr(lazy_mlp.fc1->weight->dtype()) << "\n";
  lazy_mlp(ones({10, 10}, {.dtype = float64})).sum().backward();
  optimizer.step();

  // [state]
  LazyMLP another;
  std::cout << another.state_dict().repr() << "\n";
  another.load_state_dict(StateDict(load(open_file)));  // lazy into lazy: it stays what it is
  std::cout << another.fc1->repr() << "\n";
  try {
    lazy_mlp.load_state_dict(another.state_dict());
  } catch (const LoadError& error) {
    std::cout << error.errors()[0].substr(0, 94) << "\n";
  }

  save(lazy_mlp.state_dict(), full_file);
  another.load_state_dict(StateDict(load(full_file)));  // its first call is not needed any more
  std::cout << another << "\n";
  // [state]
  std::cout << another.fc1->weight->shape() << " " << repr(another.fc1->weight->dtype()) << "\n";

  // [load_into]
  LazyMLP from_file;
  load_into(from_file, full_file);  // the file's header has the shapes
  std::cout << from_file.fc2->repr() << "\n";
  // [load_into]
  const Tensor x = rand({4, 10});
  std::cout << "the same results: " << std::boolalpha << equal(from_file(x), another(x)) << "\n";

  LazyScale scale;
  std::cout << scale.type_name();
  scale(ones({2, 3}));
  std::cout << " " << scale.type_name() << " " << scale.scale->shape() << "\n";
  std::filesystem::remove_all(folder);
}
