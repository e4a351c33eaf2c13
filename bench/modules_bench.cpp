// What modules cost: building them on meta, loading, converting, copying, listing and printing.
// bench/modules_peer.py has the same names; bench/modules_suite.py asks both and prints both.
//
//   modules_bench [--seconds S] [--file FILE] [--cpu] NAME...
//                                    nanoseconds a unit of each, as JSON; `recipe` needs the file.
//                                    --cpu: those of this thread, for a machine that others use
//   modules_bench --once NAME        runs it once, for counting the instructions of the function
//                                    `measured`; prints how many units it was
//   modules_bench --load-into FILE   seconds and peak memory of load_into
//   modules_bench --list             the names
#include <tenon/tenon.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// In bench/load_into_bench.cpp.
int load_into_bench(const std::string& file);

// What is timed is run by this function and nothing else is, so that a profiler can be told to look
// at it alone.
extern "C" [[gnu::noinline]] void measured(const std::function<void()>& work) {
  work();
  asm volatile("" ::: "memory");  // keeps the call above from being this function's last jump
}

namespace {

using namespace tenon;

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The module of PyTorch's recipe on loading, with any number of layers.
class Net final : public nn::Module {
 public:
  Net(std::int64_t layers, std::int64_t size) {
    for (std::int64_t i = 0; i < layers; ++i) linears->append(nn::make<nn::Linear>(size, size));
  }
  nn::Child<nn::ModuleList<nn::Linear>> linears{this, "linears"};
};

// All parameters in one module.
class Flat final : public nn::Module {
 public:
  explicit Flat(std::int64_t parameters) {
    for (std::int64_t i = 0; i < parameters; ++i)
      register_parameter("p" + std::to_string(i), nn::make_parameter(empty({2, 2})));
  }
};

// A measurement, ready to be repeated. What `prepare` does is not timed.
struct Ready {
  double units;  // what one call of `work` is divided by
  std::function<void()> work;
  std::function<void()> prepare = [] {};
};

struct Measurement {
  const char* name;
  std::function<Ready()> make;
};

std::string recipe_file;

// Building.

constexpr int kBatch = 1000;

Ready meta_linear() {
  return {kBatch, [] {
            const DeviceScope scope("meta");
            for (int i = 0; i < kBatch; ++i) nn::Linear layer(1000, 1000);
          }};
}

// In memory that is there already; they are destroyed by the next preparation.
Ready meta_linear_construct() {
  auto layers = std::make_shared<std::vector<std::optional<nn::Linear>>>(kBatch);
  return {kBatch,
          [layers] {
            const DeviceScope scope("meta");
            for (auto& layer : *layers) layer.emplace(1000, 1000);
          },
          [layers] {
            for (auto& layer : *layers) layer.reset();
          }};
}

// In shared pointers, in a list: what building a network costs a layer.
Ready meta_net() {
  return {kBatch, [] {
            const DeviceScope scope("meta");
            const Net net(kBatch, 1000);
          }};
}

// Loading. Every load has a state dict that nobody has loaded yet and a module that is still on
// meta: a second load of the same tensors finds some of the work done.

using Names = std::vector<std::pair<std::string, Shape>>;

Names names_of(const nn::Module& module) {
  Names names;
  for (const auto& [name, parameter] : module.named_parameters())
    names.emplace_back(name, parameter.shape());
  return names;
}

StateDict small_tensors(const Names& names) {
  StateDict state;
  double n = 0;
  for (const auto& [name, shape] : names) state.set(name, full(shape, n++));
  return state;
}

enum class Order { of_file, reversed };

Ready assign_load(std::function<std::shared_ptr<nn::Module>()> build, Order order) {
  struct Pair {
    StateDict state;
    std::shared_ptr<nn::Module> module;
  };
  auto names = names_of(*with_device("meta", build));
  if (order == Order::reversed) std::reverse(names.begin(), names.end());
  const auto units = static_cast<double>(names.size());
  auto pair = std::make_shared<Pair>();
  return {units, [pair] { pair->module->load_state_dict(pair->state, {.assign = true}); },
          [pair, build, names = std::move(names)] {
            *pair = {};
            pair->state = small_tensors(names);
            pair->module = with_device("meta", build);
          }};
}

Ready load_list(std::int64_t keys, Order order) {
  return assign_load([keys] { return nn::make<Net>(keys / 2, 2); }, order);
}

Ready load_flat(std::int64_t keys) {
  return assign_load([keys] { return nn::make<Flat>(keys); }, Order::of_file);
}

Ready recipe() {
  if (recipe_file.empty()) throw std::runtime_error("recipe needs --file");
  return {1, [] {
            const StateDict state = load(recipe_file, {.mmap = true});
            const auto net = with_device("meta", [] { return std::make_unique<Net>(10, 1000); });
            net->load_state_dict(state, {.assign = true});
          }};
}

// Working with a module that is there: 1,000 layers of 16 by 16, 2,000 parameters.

constexpr double kParameters = 2000;

std::shared_ptr<Net> small_layers() { return nn::make<Net>(1000, 16); }

Ready convert(nn::ConversionPolicy policy) {
  return {2 * kParameters, [net = small_layers(), policy] {
            const nn::ConversionScope scope(policy);
            net->to(bfloat16);
            net->to(float32);
          }};
}

Ready load_copy() {
  auto net = small_layers();
  auto state = std::make_shared<StateDict>(small_tensors(names_of(*net)));
  return {kParameters, [net, state] { net->load_state_dict(*state); }};
}

Ready load_swap() {
  auto net = small_layers();
  auto state = std::make_shared<StateDict>(small_tensors(names_of(*net)));
  return {kParameters, [net, state] {
            const nn::SwapOnConversionScope swap;
            net->load_state_dict(*state, {.assign = true});
          }};
}

Ready state_dict() {
  return {kParameters, [net = small_layers()] { const StateDict state = net->state_dict(); }};
}

Ready clone() {
  return {kParameters, [net = small_layers()] { const auto copy = nn::clone(*net); }};
}

Ready named_parameters() {
  return {kParameters, [net = small_layers()] { const auto all = net->named_parameters(); }};
}

Ready parameters() {
  return {kParameters, [net = small_layers()] { const auto all = net->parameters(); }};
}

// A list writes layers that are alike in one line; a Sequential writes each.
Ready repr() {
  auto net = nn::make<nn::Sequential>();
  for (int i = 0; i < 1000; ++i) net->append(nn::make<nn::Linear>(16, 16));
  return {1000, [net] { const std::string text = net->repr(); }};
}

Ready repr_list() {
  return {1000, [net = small_layers()] { const std::string text = net->repr(); }};
}

// Calling a layer, plain or lazy once. Small, so that the call and not the product is what counts.
Ready calls(const std::shared_ptr<nn::Linear>& layer) {
  const Tensor x = ones({1, 4});
  const NoGradScope no_grad;
  (*layer)(x);
  return {kBatch, [layer, x] {
            const NoGradScope unrecorded;
            for (int i = 0; i < kBatch; ++i) (*layer)(x);
          }};
}

const Measurement kMeasurements[] = {
    {"meta_linear", meta_linear},
    {"meta_linear_construct", meta_linear_construct},
    {"meta_net", meta_net},
    {"load_10k", [] { return load_list(10'000, Order::of_file); }},
    {"load_500k", [] { return load_list(500'000, Order::of_file); }},
    {"load_reversed_10k", [] { return load_list(10'000, Order::reversed); }},
    {"load_reversed_500k", [] { return load_list(500'000, Order::reversed); }},
    {"load_flat_10k", [] { return load_flat(10'000); }},
    {"load_flat_500k", [] { return load_flat(500'000); }},
    {"recipe", recipe},
    {"convert_swap", [] { return convert(nn::ConversionPolicy::swap); }},
    {"convert_set_data", [] { return convert(nn::ConversionPolicy::set_data); }},
    {"load_copy", load_copy},
    {"load_swap", load_swap},
    {"state_dict", state_dict},
    {"clone", clone},
    {"named_parameters", named_parameters},
    {"parameters", parameters},
    {"repr", repr},
    {"repr_list", repr_list},
    {"call_plain", [] { return calls(nn::make<nn::Linear>(4, 4)); }},
    {"call_once_lazy", [] { return calls(nn::make<nn::LazyLinear>(4)); }},
};

const Measurement* find(std::string_view name) {
  for (const Measurement& one : kMeasurements) {
    if (name == one.name) return &one;
  }
  return nullptr;
}

double once(const Ready& ready, clockid_t clock) {
  ready.prepare();
  const double begin = seconds_of(clock);
  measured(ready.work);
  return seconds_of(clock) - begin;
}

// The median of as many calls as fit, and of three at least. The first one does not count.
double nanoseconds_a_unit(const Ready& ready, double seconds, clockid_t clock) {
  const double begin = seconds_of(CLOCK_MONOTONIC);
  once(ready, clock);
  std::vector<double> times;
  do {
    times.push_back(once(ready, clock));
  } while (times.size() < 3 || seconds_of(CLOCK_MONOTONIC) - begin < seconds);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] / ready.units * 1e9;
}

int usage(const char* problem) {
  std::fprintf(stderr,
               "%s\nusage: modules_bench [--seconds S] [--file FILE] [--cpu] NAME...\n"
               "       modules_bench --once NAME | --load-into FILE | --list\n",
               problem);
  return 2;
}

int run(std::span<char*> arguments) {
  double seconds = 0.3;
  bool count = false;
  clockid_t clock = CLOCK_MONOTONIC;
  std::vector<const Measurement*> asked;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    const bool last = i + 1 == arguments.size();
    if (word == "--list") {
      for (const Measurement& one : kMeasurements) std::puts(one.name);
      return 0;
    }
    if (word == "--once") {
      count = true;
    } else if (word == "--cpu") {
      clock = CLOCK_THREAD_CPUTIME_ID;
    } else if (word == "--seconds" && !last) {
      seconds = std::atof(arguments[++i]);
    } else if (word == "--file" && !last) {
      recipe_file = arguments[++i];
    } else if (word == "--load-into" && !last) {
      return load_into_bench(arguments[++i]);
    } else if (const Measurement* one = find(word)) {
      asked.push_back(one);
    } else {
      return usage(("there is no measurement " + std::string(word)).c_str());
    }
  }
  if (asked.empty()) return usage("which measurements?");
  if (count) {
    const Ready ready = asked[0]->make();
    once(ready, clock);
    std::printf("%.0f\n", ready.units);
    return 0;
  }
  const char* between = "{";
  for (const Measurement* one : asked) {
    const double nanoseconds = nanoseconds_a_unit(one->make(), seconds, clock);
    std::printf("%s\"%s\": %.2f", between, one->name, nanoseconds);
    between = ", ";
  }
  std::puts("}");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
