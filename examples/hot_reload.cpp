// Replacing the weights of a model while it serves: in place, which keeps every pointer, and by
// exchange, which lets every request see one whole model.
#include <atomic>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "tenon/tenon.h"

using namespace tenon;

namespace {

// A model whose answer tells which checkpoint it came from, and whether all of it did: every
// element of a checkpoint's tensors is the number of the checkpoint.
class Model final : public nn::Layer {
 public:
  nn::Child<nn::Linear> first{this, "first", 64, 64};
  nn::Child<nn::Linear> second{this, "second", 64, 64};

 protected:
  Tensor forward(const Tensor& x) override { return second(first(x)); }
};

double expected(double number) {
  const double first = 64 * number + number;
  return 64 * number * first + number;
}

std::string write_checkpoint(const std::filesystem::path& folder, int number) {
  Model model;
  const NoGradScope no_grad;
  for (const Tensor& parameter : model.parameters()) parameter.fill_(number);
  const std::string file = (folder / ("model_" + std::to_string(number) + ".safetensors")).string();
  save(model.state_dict(), file);
  return file;
}

// The number of the checkpoint that an answer came from, or 0 if it came from two.
int checkpoint_of(const Tensor& answer) {
  const double value = answer[0].item<double>();
  for (int number = 1; number <= 3; ++number) {
    if (value == expected(number)) return number;
  }
  return 0;
}

// Runs requests on several threads until it is told to stop.
template <class Request>
class Server {
 public:
  explicit Server(Request request) {
    for (int i = 0; i < 3; ++i) {
      threads_.emplace_back([this, request](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          const int number = request();
          ++(number == 0 ? torn : served);
        }
      });
    }
  }
  void wait_for(int more) const {
    const int until = served + more;
    while (served < until) std::this_thread::yield();
  }
  std::atomic<int> served = 0, torn = 0;

 private:
  std::vector<std::jthread> threads_;
};

// [exchange]
// By exchange: a second model is loaded beside the first and published whole. Requests that have
// begun finish with the model they began with; its memory goes when the last of them is through.
void by_exchange(const std::vector<std::string>& files) {
  auto first = nn::make<Model>();
  load_into(*first, files[0]);
  std::atomic<std::shared_ptr<Model>> current(std::move(first));
  const Tensor input = ones({64});

  Server server([&] {
    const NoGradScope no_grad;
    const std::shared_ptr<Model> model = current.load();
    return checkpoint_of((*model)(input));
  });
  for (const std::string& file : files) {
    auto next = with_device("meta", [] { return nn::make<Model>(); });
    load_into(*next, file);
    current.store(std::move(next));
    server.wait_for(100);
  }
  std::cout << "by exchange: " << (server.torn == 0 ? "every" : "not every")
            << " answer came from one checkpoint\n";
}
// [exchange]

// [in_place]
// In place: the same tensors, the same memory, so that pointers somebody took, a captured graph's
// say, stay right. While bytes are copied nobody may read them: the caller keeps readers out.
void in_place(const std::vector<std::string>& files) {
  Model model;
  load_into(model, files[0]);
  std::vector<const void*> pointers;
  for (const Tensor& parameter : model.parameters()) pointers.push_back(parameter.data_ptr());
  std::shared_mutex reloading;
  std::atomic<bool> wanted = false;  // a lock that readers share may let a writer wait for ever
  const Tensor input = ones({64});

  Server server([&] {
    const NoGradScope no_grad;
    while (wanted) std::this_thread::yield();
    const std::shared_lock lock(reloading);
    return checkpoint_of(model(input));
  });
  for (const std::string& file : files) {
    wanted = true;
    {
      const std::unique_lock lock(reloading);
      load_into(model, file);
    }
    wanted = false;
    server.wait_for(100);
  }
  bool same = true;
  for (std::size_t i = 0; i < pointers.size(); ++i)
    same = same && model.parameters()[i].data_ptr() == pointers[i];
  std::cout << "in place: " << (server.torn == 0 ? "every" : "not every")
            << " answer came from one checkpoint, and " << (same ? "no" : "some")
            << " pointer changed\n";
}
// [in_place]

}  // namespace

int main() {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("hot_reload_" + std::to_string(std::random_device()()));
  std::filesystem::create_directory(folder);
  std::vector<std::string> files;
  for (int number = 1; number <= 3; ++number) files.push_back(write_checkpoint(folder, number));
  by_exchange(files);
  in_place(files);
  std::filesystem::remove_all(folder);
}
