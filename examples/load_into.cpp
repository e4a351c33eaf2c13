// A checkpoint straight into a module: what would be done, converting on the way, how far it is,
// and what happens if it does not fit.
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tenon/tenon.h"

using namespace tenon;

namespace {

class Net final : public nn::Layer {
 public:
  explicit Net(std::int64_t classes) : head(this, "head", 64, classes) {}
  nn::Child<nn::Linear> body{this, "body", 256, 64};
  nn::Child<nn::Linear> head;
  nn::Buffer steps{this, "steps", zeros({}, {.dtype = int64})};

 protected:
  Tensor forward(const Tensor& x) override { return head(body(x)); }
};

// [on_meta]
std::shared_ptr<Net> on_meta(std::int64_t classes) {
  return with_device("meta", [&] { return nn::make<Net>(classes); });
}
// [on_meta]

void dry_run(const std::string& file) {
  // [dry_run]
  const auto net = on_meta(10);
  const LoadIntoReport report = load_into(*net, file, {.dtype = bfloat16, .dry_run = true});
  std::cout << report.plan();
  std::cout << net->meta_tensors().size() << " tensors on meta\n";
  // [dry_run]
}

void converted(const std::string& file) {
  // [converted]
  const auto net = on_meta(10);
  const optim::SGD optimizer(net->parameters());  // before the load
  LoadIntoOptions options{.dtype = bfloat16, .memory_budget = 1'000'000};
  options.watch.progress = [](std::uint64_t done, std::uint64_t total) {
    if (done == total) std::cout << done << " bytes of " << total << "\n";
  };
  std::cout << load_into(*net, file, options) << "\n";
  const Tensor& held = optimizer.param_groups()[0].params()[0];
  std::cout << held.dtype() << " on " << held.device() << "\n";
  // [converted]
}

void budget(const std::string& file) {
  // [budget]
  try {
    load_into(*on_meta(10), file, {.memory_budget = 50'000});
  } catch (const ValueError& error) {
    std::cout << error.what() << "\n";
  }
  // [budget]
}

void mapped(const std::string& file) {
  // [mapped]
  const auto net = on_meta(10);
  const LoadIntoReport report = load_into(*net, file, {.mmap = true});
  std::cout << report.bytes_read << " bytes read, " << report.bytes_made << " bytes made\n";
  // [mapped]
}

void errors(const std::string& file) {
  // [errors]
  StateDict state = load(file);
  state.erase("steps");
  state.set("extra", zeros({2}));
  Net net(5);
  try {
    net.load_state_dict(state);
  } catch (const LoadError& error) {
    std::cout << error.what() << "\n";
    std::cout << error.missing_keys().size() << " missing, " << error.unexpected_keys().size()
              << " unexpected, " << error.errors().size() << " others, torn: " << error.torn()
              << "\n";
  }
  // [errors]
}

void another_head(const std::string& file) {
  // [skip]
  Net net(5);  // the file has 10 classes
  const nn::IncompatibleKeys keys = net.load_state_dict(load(file), {.skip_mismatched = true});
  for (const auto& [key, checkpoint, module] : keys.mismatched)
    std::cout << key << ": " << checkpoint << " in the file, " << module << " in the module\n";
  // [skip]
}

void left_on_meta(const std::string& file) {
  // [meta]
  StateDict state = load(file, {.mmap = true});
  state.erase("steps");
  const auto net = on_meta(10);
  net->load_state_dict(state, {.strict = false, .assign = true});
  for (const std::string& name : net->meta_tensors()) std::cout << name << " is on meta\n";
  net->steps = zeros({}, {.dtype = int64});

  const auto strict = on_meta(10);
  try {
    strict->load_state_dict(state, {.strict = false, .assign = true, .allow_meta = false});
  } catch (const LoadError& error) {
    std::cout << error.what() << "\n";
  }
  // [meta]
}

void ties() {
  // [ties]
  const auto net = nn::make<nn::Sequential>(
      {nn::make<nn::Linear>(2, 2, {.bias = false}), nn::make<nn::Linear>(2, 2, {.bias = false})});
  (*net)[1].as<nn::Linear>()->weight = (*net)[0].as<nn::Linear>()->weight;
  StateDict state;
  state.set("0.weight", zeros({2, 2}));
  state.set("1.weight", ones({2, 2}));
  for (const std::string& key : net->load_state_dict(state).tie_conflicts)
    std::cout << key << " was overruled\n";
  try {
    net->load_state_dict(state, {.allow_tie_conflicts = false});
  } catch (const LoadError& error) {
    std::cout << error.errors()[0] << "\n";
  }
  // [ties]
}

}  // namespace

int main() {
  set_num_threads(2);  // as the memory that is needed depends on it
  const auto folder = std::filesystem::temp_directory_path() /
                      ("load_into_" + std::to_string(std::random_device()()));
  std::filesystem::create_directory(folder);
  const std::string file = (folder / "net.safetensors").string();
  manual_seed(0);
  save(Net(10).state_dict(), file);
  dry_run(file);
  converted(file);
  budget(file);
  mapped(file);
  errors(file);
  another_head(file);
  left_on_meta(file);
  ties();
  std::filesystem::remove_all(folder);
}
