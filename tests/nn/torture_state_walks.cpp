// What goes through state dicts, trees of values and files, and runs user code on the way.
#include <fcntl.h>
#include <unistd.h>

#include "torture_company.h"

namespace tenon::nn {
namespace {

void give_state(Company& company) {
  company.state = std::make_unique<StateDict>(chatty_state());
  company.tree = std::make_unique<Value>(chatty_tree());
}

// A dict that fits the module, of plain and of user-defined tensors.
void give_fitting_state(Torture& t) {
  StateDict state;
  for (const auto& [key, value] : t.root->state_dict({.keep_vars = true})) {
    if (!value.is_tensor()) {
      state.set(key, value);
      continue;
    }
    const Tensor plain = full(value.as_tensor().shape(), 0.25);
    state.set(key, key.find("chatty") == key.npos ? plain : make_tensor<FlatChatty>(plain));
  }
  t.company->state = std::make_unique<StateDict>(std::move(state));
}

// An open file, for as long as it is needed.
struct OpenFile {
  explicit OpenFile(const std::string& path)
      : number(::open(path.c_str(), O_RDWR | O_CREAT, 0600)) {}
  ~OpenFile() { ::close(number); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int number;
};

void add_saves(std::vector<CompanyWalk>& walks, const std::string& folder) {
  const auto prepared = [folder](const char* name, SaveOptions options = {}) {
    return [=](Torture& t) {
      give_state(*t.company);
      if (options.shard_size != 0) *t.company->state = plain_state();
      t.company->given->path = folder + "/" + name;
      const Watch watch = t.company->given->save.watch;
      t.company->given->save = options;
      t.company->given->save.watch = watch;
      t.company->given->save.durable = false;
    };
  };
  const auto save_dict = [](Torture& t) {
    save(*t.company->state, t.company->given->path, t.company->given->save);
  };
  const auto save_tree = [](Torture& t) {
    save(*t.company->tree, t.company->given->path, t.company->given->save);
  };
  walks.push_back({"save of a dict", kState, prepared("target.pth"), save_dict});
  walks.push_back({"save of a tree", kState, prepared("target.pth"), save_tree});
  walks.push_back(
      {"save of a compact tree", kState, prepared("target.pth", {.compact = true}), save_tree});
  walks.push_back(
      {"save of a dict as safetensors", kState, prepared("target.safetensors"), save_dict});
  walks.push_back(
      {"save of a tree as safetensors", kState, prepared("target.safetensors"), save_tree});
  walks.push_back({"save of shards", kState, prepared("shards", {.shard_size = 24}), save_dict});
  walks.push_back({"save of shards that are archives", kState,
                   prepared("archives", {.format = FileFormat::pth, .shard_size = 24}), save_dict});
  walks.push_back(
      {"save of nothing", kState, prepared("target.pth", {.dry_run = true}), save_tree});
  walks.push_back({"save to memory", kState, prepared(""), [](Torture& t) {
                     (void)save_to_memory(*t.company->tree, t.company->given->save);
                   }});
  walks.push_back({"save into an open file", kState, prepared("open.pth"), [](Torture& t) {
                     const OpenFile file(t.company->given->path);
                     save(*t.company->state, file.number, t.company->given->save);
                   }});
}

void add_dicts(std::vector<CompanyWalk>& walks) {
  const auto prepare = [](Torture& t) { give_state(*t.company); };
  walks.push_back(
      {"repr of a dict", kState, prepare, [](Torture& t) { (void)t.company->state->repr(); }});
  walks.push_back(
      {"repr of a tree", kState, prepare, [](Torture& t) { (void)t.company->tree->repr(); }});
  walks.push_back({"repr of a tensor", kState,
                   [](Torture& t) {
                     give_state(*t.company);
                     t.company->tensors = std::make_unique<std::vector<Tensor>>(1, flat_chatty(1));
                   },
                   [](Torture& t) { (void)t.company->tensors->front().repr(); }, 1});
  walks.push_back({"erase_if", kState, prepare, [](Torture& t) {
                     t.company->state->erase_if([](auto, const auto&) {
                       happen();
                       return true;
                     });
                   }});
  const auto swapping = [](const char* first, const char* second) {
    return [=](Torture& t) {
      const Tensor a = t.company->state->tensor(first), b = t.company->state->tensor(second);
      swap_tensors(a, b);
    };
  };
  // (None that has a view.)
  const auto alone = [](Torture& t) {
    give_state(*t.company);
    t.company->tree.reset();
  };
  walks.push_back({"a swap of user-defined tensors", kState, alone, swapping("chatty", "last"), 2});
  walks.push_back(
      {"a swap of tensors with attributes", kState, alone, swapping("decorated", "last"), 4});
  const auto load = [](LoadStateDictOptions options, ConversionPolicy policy) {
    return [=](Torture& t) {
      const ConversionScope scope(policy);
      t.root->load_state_dict(*t.company->state, options);
    };
  };
  const unsigned both = kState | kModule;
  walks.push_back({"load_state_dict of the dict", both, give_fitting_state,
                   load({}, ConversionPolicy::set_data)});
  walks.push_back({"load_state_dict of the dict by swapping", both, give_fitting_state,
                   load({}, ConversionPolicy::swap)});
  walks.push_back({"load_state_dict of the dict by assigning", both, give_fitting_state,
                   load({.assign = true}, ConversionPolicy::set_data)});
  walks.push_back({"clone with attributes and parts", both,
                   [](Torture& t) {
                     give_state(*t.company);
                     int number = 0;
                     for (const auto& [key, value] : *t.company->state) {
                       if (value.is_tensor() && !value.as_tensor().is_view())
                         t.root->register_buffer("b" + std::to_string(++number), value.as_tensor());
                     }
                   },
                   [](Torture& t) { (void)clone(*t.root); }});
}

// Of which half of the tensors is wanted.
bool wanted(std::string_view name) {
  happen();
  return name != "second";
}
std::optional<Device> placed(std::string_view /*device*/) {
  happen();
  return Device::cpu();
}

void add_loads(std::vector<CompanyWalk>& walks, const std::string& folder) {
  const auto prepared = [folder](const char* name, bool mmap) {
    return [=](Torture& t) {
      Given& given = *t.company->given;
      given.path = folder + "/" + name;
      given.load = {.mmap = mmap,
                    .map_location = placed,
                    .filter = wanted,
                    .watch = {.progress = [](auto, auto) { happen(); }}};
      t.company->file = std::make_unique<Checkpoint>(Checkpoint::open(given.path));
    };
  };
  const auto load_path = [](Torture& t) {
    (void)load(t.company->given->path, t.company->given->load);
  };
  const auto load_file = [](Torture& t) { (void)t.company->file->load(t.company->given->load); };
  for (const char* name : {"old.pth", "old.safetensors", "old_shards"}) {
    walks.push_back({"load", kFile, prepared(name, false), load_path});
    walks.push_back({"load of a checkpoint", kFile, prepared(name, false), load_file});
    walks.push_back({"load of a mapped file", kFile, prepared(name, true), load_path});
    walks.push_back({"verify", kFile, prepared(name, false),
                     [](Torture& t) { t.company->file->verify(t.company->given->load.watch); }, 1});
    walks.push_back({"read", kFile, prepared(name, false),
                     [](Torture& t) { t.company->file->read(0, [](auto) { happen(); }); }, 1});
    walks.push_back({"convert", kFile,
                     [=](Torture& t) {
                       prepared(name, false)(t);
                       t.company->given->convert.filter = wanted;
                       t.company->given->convert.save = t.company->given->save;
                     },
                     [folder](Torture& t) {
                       convert(t.company->given->path, folder + "/converted.safetensors",
                               t.company->given->convert);
                     }});
  }
  for (const bool swap : {false, true}) {
    walks.push_back({"load_into with options", kFile | kModule,
                     [=](Torture& t) {
                       t.company->given->path = folder + "/net.pth";
                       t.company->given->load_into = {
                           .strict = false, .filter = wanted, .watch = {.progress = [](auto, auto) {
                                                                happen();
                                                              }}};
                       if (swap) t.company->given->load_into.dtype = bfloat16;
                     },
                     [](Torture& t) {
                       load_into(*t.root, t.company->given->path, t.company->given->load_into);
                     }});
  }
}

}  // namespace

std::vector<CompanyWalk> state_walks(const std::string& folder) {
  std::vector<CompanyWalk> walks;
  add_saves(walks, folder);
  add_dicts(walks);
  add_loads(walks, folder);
  return walks;
}

}  // namespace tenon::nn
