// load() and save() as a program calls them that is handed a file it does not trust: what the
// command does not do, and errors as the library words them.
//
// usage: hostile_load [--inert] [--mmap] [--filter NAME] [--path PATH] [--repr] [--equal] [--read]
// [--state] [--into] IN [OUT]
//
// --repr: writes the value out. --equal: loads it again, and compares. --read: opens it first, and
// reads every tensor. --state: takes it for a state dict. --into: loads it into a module that has
// parameters of the file's names and sizes, as another dtype, and nothing else.
//
// Exit: 0 done, 2 wrong usage, 3 refused, with what() on standard error as it is, 4 no memory.
#include <tenon/tenon.h>

#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace {

void read_all(const std::string& file, bool inert) {
  const tenon::Checkpoint checkpoint = tenon::Checkpoint::open(file, {.inert = inert});
  for (std::size_t i = 0; i < checkpoint.tensors().size(); ++i)
    checkpoint.read(i, [](std::span<const std::byte>) {});
  checkpoint.load({.map_location = "meta"});
}

struct Net : tenon::nn::Module {};

// A module of the caller's has a size that the caller chose: here so many elements and tensors at
// most.
void load_into_module(const tenon::Checkpoint& checkpoint, tenon::Device device) {
  Net net;
  std::int64_t elements = 4 << 20;
  std::size_t left = 20'000;
  for (const tenon::TensorFacts& facts : checkpoint.tensors()) {
    const std::int64_t count = facts.shape.numel();
    if (facts.name.empty() || facts.name.find('.') != facts.name.npos || count > elements) continue;
    if (left-- == 0) break;
    elements -= count;
    net.register_parameter(
        facts.name, tenon::nn::make_parameter(tenon::empty(facts.shape, {.device = device})));
  }
  tenon::load_into(net, checkpoint, {.strict = false, .dtype = tenon::bfloat16});
}

}  // namespace

int main(int argc, char** argv) {
  tenon::LoadOptions options;
  options.map_location = "cpu";
  bool repr = false, equal = false, read = false, state = false, into = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--inert")
      options.inert = true;
    else if (word == "--mmap")
      options.mmap = true;
    else if (word == "--repr")
      repr = true;
    else if (word == "--equal")
      equal = true;
    else if (word == "--read")
      read = true;
    else if (word == "--state")
      state = true;
    else if (word == "--into")
      into = true;
    else if (word == "--path" && i + 1 < argc)
      options.path = argv[++i];
    else if (word == "--filter" && i + 1 < argc)
      options.filter = [wanted = std::string(argv[++i])](std::string_view name) {
        return name == wanted;
      };
    else
      files.emplace_back(word);
  }
  if (files.empty() || files.size() > 2) return 2;
  try {
    if (into) {
      const tenon::Checkpoint checkpoint = tenon::Checkpoint::open(files[0]);
      for (const auto& device : {tenon::Device::cpu(), tenon::Device::meta()})
        load_into_module(checkpoint, device);
      return 0;
    }
    if (read) read_all(files[0], options.inert);
    const tenon::Value value = tenon::load(files[0], options);
    if (state) const tenon::StateDict names(value);
    if (repr) value.repr();
    if (equal && !(value == tenon::load(files[0], options))) return 3;
    if (files.size() == 2) tenon::save(value, files[1], {.durable = false});
  } catch (const tenon::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  } catch (const std::bad_alloc&) {
    return 4;
  }
  return 0;
}
