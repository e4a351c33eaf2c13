#include "load/file_load.h"

#include <algorithm>
#include <exception>
#include <set>

#include "base/thread_pool.h"
#include "base/what_happened.h"
#include "core/body_editor.h"
#include "core/secret_hash.h"
#include "core/swap.h"
#include "core/uninitialized.h"
#include "nn/shared_storages.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"

namespace tenon::detail {

namespace {

// A write, which is counted when it ends.
struct Counted {
  const Tensor& tensor;
  ~Counted() { BodyEditor::bump_version(tensor.body()); }
};

// What a tensor of the file is called below the path that is loaded: a key there. Not looked for
// from the top, where the path and the key may lead elsewhere together.
std::string_view below(std::string_view path, std::string_view name) {
  return path.empty() ? name : name.substr(path.size() + 1);
}

}  // namespace

bool FileLoad::is_written_at_commit(const LoadItem& item) const {
  return (item.how == LoadStep::How::copied && !options_.full_staging) ||
         (item.how == LoadStep::How::handed && !plan_.swaps());
}

std::vector<LoadItems> FileLoad::by_storage(const LoadItems& items) const {
  std::vector<LoadItems> groups(1);
  std::map<std::uint32_t, LoadItems> deflated;
  for (LoadItem* item : items) {
    const std::uint32_t storage = file_.tensors()[item->index].storage;
    const bool is_deflated = file_.storages()[storage].deflated;
    (is_deflated ? deflated[storage] : groups[0]).push_back(item);
  }
  for (auto& [storage, over] : deflated) {
    if (over.size() == 1)
      groups[0].push_back(over[0]);
    else
      groups.push_back(std::move(over));
  }
  return groups;
}

void FileLoad::stage() {
  const NoGradScope no_grad;
  const OrdinaryScope ordinary;
  load_unconverted();
  load_assembled();
  LoadItems one_by_one, in_place, handed;
  for (LoadItem& item : items_) {
    if (item.made.defined()) continue;
    if (is_written_at_commit(item)) {
      in_place.push_back(&item);
    } else if (item.how == LoadStep::How::handed) {
      handed.push_back(&item);
    } else {
      one_by_one.push_back(&item);
    }
  }
  for (const LoadItems& group : by_storage(handed)) {
    for (LoadItem* item : group) hand_over(*item);
  }
  for (LoadItem* item : one_by_one) {
    if (item->ordered) item->like = item->own.detach();
  }
  // A device's memory and copies are somebody's code, and guards are those of this thread.
  LoadItems here, on_threads;
  for (LoadItem* item : one_by_one)
    (item->device.has_backend() ? here : on_threads).push_back(item);
  for (const LoadItems& group : by_storage(here)) {
    for (LoadItem* item : group) {
      convert(*item);
      plan_.check_stage();
      plan_.fail_if_wrong();
    }
  }
  each(by_storage(on_threads), [this](LoadItem& item) { convert(item); });
  share_twins(one_by_one);
  at_commit_ = by_storage(in_place);
  if (verifies()) {
    each(at_commit_, [this](LoadItem& item) { read_through(file_, item.index, tell()); });
  }
  check_items();
  for (LoadItem& item : items_) put_into_plan(item);
  plan_.fail_if_wrong();
}

void FileLoad::check_items() {
  plan_.check_stage();
  plan_.fail_if_wrong();
  note_other_data();
  plan_.fail_if_wrong();
}

void FileLoad::note_other_data() {
  for (const LoadItem& item : items_) {
    if (item.action->lazy) continue;
    const bool copied = item.how == LoadStep::How::copied;
    if (item.own.shape() == item.shape && item.own.is_meta() == item.on_meta &&
        (!copied || (item.own.dtype() == item.dtype && item.own.device() == item.device)))
      continue;
    plan_.error(
        plan_.failure(*item.action, "user code that the load was running has given it other data"));
  }
}

Value FileLoad::load_only(const std::function<bool(std::string_view)>& wanted, bool mmap,
                          std::uint64_t expected) {
  std::uint64_t told = 0;
  Value loaded = file_.load(
      {.mmap = mmap,
       .verify = options_.verify,
       .map_location = "cpu",
       .path = options_.path,
       .filter = wanted,
       .watch = {.stop = options_.watch.stop, .progress = [&](std::uint64_t done, std::uint64_t) {
                   done = std::min(done, expected);
                   count(done - std::exchange(told, done));
                 }}});
  count(0);
  return loaded;
}

Tensor FileLoad::loaded_tensor(const Value& tree, const std::string& name) {
  const Value* found = tree.kind() == Value::Kind::dict ? tree.find(Value(name)) : nullptr;
  if (found == nullptr || !found->is_tensor())
    throw InternalError("load_into: a tensor that was asked for was not loaded");
  return found->as_tensor();
}

void FileLoad::load_unconverted() {
  const auto key_of = [this](const LoadItem& item) {
    return below(options_.path, file_.tensors()[item.index].name);
  };
  std::unordered_map<std::string_view, LoadItem*, SecretHash> wanted;
  for (LoadItem& item : items_) {
    if (item.how == LoadStep::How::mapped || goes_whole(item)) wanted.emplace(key_of(item), &item);
  }
  if (wanted.empty()) return;
  std::uint64_t expected = 0;
  for (const auto& [name, item] : wanted) {
    if (item->how != LoadStep::How::mapped) expected += bytes_in_file(*item);
  }
  const Value tree = load_only([&](std::string_view name) { return wanted.contains(name); },
                               options_.mmap, expected);
  check_items();
  nn::detail::SharedStorages shared;
  std::vector<std::pair<LoadItem*, Tensor>> loaded;
  for (LoadItem& item : items_) {
    if (!wanted.contains(key_of(item))) continue;
    loaded.emplace_back(&item, loaded_tensor(tree, std::string(key_of(item))));
    shared.add(loaded.back().second);
  }
  for (auto& [item, tensor] : loaded) {
    const ToOptions to{.dtype = item->dtype, .device = item->device};
    const auto f = [&](const Tensor& t) { return t.to(to); };
    const auto together = shared.map(tensor, f);
    item->made = together ? *together : f(tensor);
    if (!options_.assign) item->made = as_the_modules(*item, item->made);
  }
}

void FileLoad::load_assembled() {
  if (assembled_.empty()) return;
  const auto key_of = [this](const Assembled& one) {
    return std::string(below(options_.path, one.from->name));
  };
  std::set<std::string, std::less<>> wanted;
  std::uint64_t expected = 0;
  for (const Assembled& one : assembled_) {
    if (wanted.insert(key_of(one)).second) expected += one.from->bytes;
  }
  const Value tree =
      load_only([&](std::string_view name) { return wanted.contains(name); }, false, expected);
  check_items();
  for (const Assembled& one : assembled_) {
    LoadAction& action = *one.action;
    Tensor value = loaded_tensor(tree, key_of(one));
    if (value.dtype() != one.dtype || value.device() != one.device)
      value = value.to({.dtype = one.dtype, .device = one.device});
    plan_.check_stage();
    action.value = value;
    if (one.swapped) {
      stage_swap(action, one.own, value);
    } else {
      plan_.decide(action);
    }
  }
  plan_.fail_if_wrong();
}

Tensor FileLoad::as_the_modules(const LoadItem& item, const Tensor& loaded) const {
  const Tensor& own = item.own;
  if (item.action->lazy) return loaded.is_contiguous() ? loaded : loaded.contiguous();
  const bool ordered = loaded.stride() == own.stride() || loaded.dim() != own.dim();
  if (ordered &&
      (own.is_meta() || loaded.storage().use_count() == 1 || item.how == LoadStep::How::mapped))
    return loaded;
  Tensor fresh = empty_like(own.detach(), {.dtype = item.dtype, .device = item.device});
  fresh.copy_(loaded.dim() == own.dim() ? loaded : loaded.view(own.shape()));
  return fresh;
}

void FileLoad::convert(LoadItem& item) {
  if (shares_with_twin(item)) {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = twins_.try_emplace(place_of(item), &item);
    if (!is_new && item.device == found->second->device) return;
  }
  const OrdinaryScope ordinary;  // on this thread, too
  const Shape& shape = file_.tensors()[item.index].shape;
  const Tensor made = item.ordered
                          ? empty_like(item.like, {.dtype = item.dtype, .device = item.device})
                          : empty(shape, {.dtype = item.dtype, .device = item.device});
  read_into(file_, item.index, made, verifies(), tell());
  item.made = made;
}

void FileLoad::share_twins(const LoadItems& items) {
  for (LoadItem* item : items) {
    if (item->made.defined()) continue;
    item->made = twins_.at(place_of(*item))->made.detach();
  }
}

void FileLoad::hand_over(LoadItem& item) {
  const TensorFacts& facts = file_.tensors()[item.index];
  const Tensor value = empty(facts.shape, {.dtype = item.dtype, .device = item.device});
  read_into(file_, item.index, value, verifies(), tell());
  plan_.check_stage();
  plan_.fail_if_wrong();
  LoadAction& action = *item.action;
  action.value = value;
  plan_.stage_now(action);
  action.value = stand_in_;
  plan_.check_stage();
}

void FileLoad::put_into_plan(LoadItem& item) {
  if (!item.made.defined()) return;
  LoadAction& action = *item.action;
  const Tensor& own = item.own;
  Tensor made = item.made;
  if (!action.lazy && made.shape() != own.shape()) made = made.view(own.shape()).detach();
  action.value = made;
  // What takes a place in the module is made by the plan, registration hooks and all.
  if (action.how == How::copy || action.how == How::rebind) return;
  stage_swap(action, own, made);
}

void FileLoad::stage_swap(LoadAction& action, const Tensor& own, const Tensor& made) {
  action.staged = plan_.like_own(own, made);
  try {
    check_swap(own, action.staged);
    prepare_carry_over(own.body(), action.staged.body());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {  // refused, or by the code of a class that was looked into
    plan_.error(plan_.failure(action, what_happened()));
  }
}

void FileLoad::each(const std::vector<LoadItems>& groups, const std::function<void(LoadItem&)>& f) {
  for (const LoadItems& group : groups) {
    parallel_for(0, static_cast<std::int64_t>(group.size()), 1,
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t i = first; i < last; ++i)
                     f(*group[static_cast<std::size_t>(i)]);
                 });
  }
  count(0);
}

void FileLoad::count(std::uint64_t bytes) {
  uncounted_ += bytes;
  if (std::this_thread::get_id() == thread_) meter_->add(uncounted_.exchange(0));
}

PieceRead FileLoad::tell() {
  return [this](std::uint64_t bytes) {
    meter_->stop_if_asked();
    count(bytes);
  };
}

void FileLoad::copy_into_place() {
  note_other_data();
  plan_.check_commit();
  for (const LoadItems& group : at_commit_) {
    for (const LoadItem* item : group) copy_into_place(*item);
  }
}

void FileLoad::copy_into_place(const LoadItem& item) {
  const Tensor& own = item.own;
  const std::int64_t version = own.version();
  try {
    if (item.how == LoadStep::How::handed) {
      const Tensor value = empty(own.shape(), {.dtype = item.dtype, .device = item.device});
      read_into(file_, item.index, value, verifies(), tell_only());
      own.copy_(value);
    } else {
      // Counted when the bytes are there, or as many as came: what others make of the tensor
      // while it is being read (a packed copy) is then out of date.
      const Counted counted{own};
      const void* memory = own.storage().identity();
      read_into(file_, item.index, own, verifies(), tell_only());
      if (own.storage().identity() != memory)
        throw ValueError("it was given other data while it was being read");
    }
    plan_.note_written(item.action->key);
  } catch (const std::exception& failed) {
    if (own.version() != version) plan_.note_written(item.action->key);
    plan_.error(plan_.failure(*item.action, failed.what()));
    plan_.fail_commit();
  }
  plan_.check_commit();
}

PieceRead FileLoad::tell_only() {
  return [this](std::uint64_t bytes) {
    try {
      count(bytes);
    } catch (...) {
    }
  };
}

}  // namespace tenon::detail
