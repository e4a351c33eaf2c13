#include "io/pickle/pickler.h"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/stored_dtype.h"
#include "base/text.h"
#include "core/autograd_meta.h"
#include "core/body_editor.h"
#include "core/device_table.h"
#include "core/uninitialized.h"
#include "core/value_depth.h"
#include "io/pickle/composites.h"
#include "io/pickle/pickle.h"
#include "io/pickle/pickle_writer.h"
#include "io/pickle/plain_key.h"
#include "io/pickle/rebuild.h"
#include "io/pickle/tensor_attributes.h"
#include "io/pickle/written_composites.h"
#include "io/read/flattened.h"
#include "io/read/tensors.h"
#include "io/support/shown.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"

namespace tenon {

using namespace pickle_op;

Supply::~Supply() = default;

bool MemorySupply::has_bytes(const Tensor& tensor) const { return !tensor.is_meta(); }

std::shared_ptr<Payload> MemorySupply::storage(const Tensor& tensor) {
  Storage storage = tensor.storage();
  if (!storage.device().is_cpu()) {
    const auto n = static_cast<std::int64_t>(storage.nbytes());
    const auto bytes_over = [&](const Storage& memory) {
      return Tensor(make_ref<Body>(Layout::packed({n}, uint8, memory.device()), Storage(memory)));
    };
    const Storage copy = Storage::allocate(storage.nbytes());
    find_backend(storage.device().type())->copy(bytes_over(copy), bytes_over(storage));
    storage = copy;
  }
  return payload_of(storage, 0, storage.nbytes());
}

std::string MemorySupply::location(const Tensor& tensor) const { return tensor.device().str(); }

namespace {

using Batches = PickleWriter::Batches;
using Kind = Value::Kind;

class Pickler {
 public:
  Pickler(Supply& supply, ReadMeter& meter) : supply_(supply), meter_(meter), out_(meter) {}

  ~Pickler() {
    meter_.release(known_.size() * kKnownCost + levels_.size() * kLevelsCost + attributes_cost_);
  }
  Pickler(const Pickler&) = delete;
  Pickler& operator=(const Pickler&) = delete;

  // Below so many objects of the program.
  void value(const Value& value, int depth) {
    switch (value.kind()) {
      case Kind::none: return out_.none();
      case Kind::boolean: return out_.boolean(value.as_bool());
      case Kind::integer: return out_.integer(value.as_int());
      case Kind::big_integer: return big_integer(value.big_bytes(), value.identity());
      case Kind::real: return out_.real(value.as_real());
      case Kind::string: return out_.text(value.as_string(), value.identity());
      case Kind::dtype: reach(depth + 1); return out_.global("torch", info(value.as_dtype()).name);
      case Kind::device: reach(depth + kCallLevels); return device(value.as_device());
      default: break;
    }
    once(value, value.identity(), depth, [&] { content(value, depth); });
  }

  Pickled finish() { return {out_.finish(), std::move(storages_)}; }

 private:
  // Note [How deep what we write is]
  // Reading counts levels of objects, with the calls they are made by, their arguments and their
  // states, and whatever is below an object that is written once and used in several places. So
  // does this: the level that the deepest object has reached, from the top.
  void reach(int level) {
    if (level > kMaxDepth) too_deep();
    reached_ = std::max(reached_, level);
  }
  // What has been written for `identity`, or else by `write`: all that the value is made of.
  template <class Write>
  void once(const Value& value, const void* identity, int depth, Write&& write) {
    const int own = is_call(value) ? kCallLevels : 1;
    if (out_.again(identity)) {
      check_finished(identity);
      const auto known = levels_.find(value.identity());
      return reach(depth + (known != levels_.end() ? known->second : own));
    }
    const int beside = std::exchange(reached_, 0);
    reach(depth + own);
    const bool fresh = open_.insert(identity).second;
    write();
    if (fresh) open_.erase(identity);
    if (reached_ > depth + own && levels_.try_emplace(value.identity(), reached_ - depth).second)
      meter_.memory(kLevelsCost);
    reached_ = std::max(reached_, beside);
  }

  // Values contain themselves only by way of a tensor, which is given attributes when it is in one.
  void check_finished(const void* identity) const {
    if (in_tensors_ == 0 || !open_.contains(identity)) return;
    throw ValueError(
        "save: a value that contains itself, as a tensor in it has it for an attribute: remove "
        "the attribute");
  }

  void content(const Value& value, int depth) {
    switch (value.kind()) {
      case Kind::complex: return complex(value);
      case Kind::bytes: return bytes(value);
      case Kind::list: return list(value, depth);
      case Kind::tuple: return tuple(value, depth);
      case Kind::set: return set(value, depth);
      case Kind::dict: return dict(value, depth);
      case Kind::size: return size(value.as_size(), value.identity());
      case Kind::tensor: return tensor(value.as_tensor(), value.identity(), depth);
      case Kind::object: return object(value, depth);
      default: throw InternalError("a value of no kind");
    }
  }
  void big_integer(const std::string& bytes, const void* identity) {
    check_written_integer(bytes);
    // Python writes one out in every place and remembers none. Here the second place remembers it,
    // so that a small tree does not make a large file; up to there it is as torch.save writes it.
    const bool again = bytes.size() >= 256 && !long_integers_.insert(identity).second;
    out_.big_integer(bytes, again ? identity : nullptr);
  }
  // Behind the function and its n arguments.
  void call(std::size_t n, const void* identity) {
    out_.end_tuple(n);
    if (n != 0) out_.remember(nullptr);
    out_.op(kReduce);
    out_.remember(identity);
  }

  void complex(const Value& value) {
    out_.global("__builtin__", "complex");
    out_.real(value.as_complex().real());
    out_.real(value.as_complex().imag());
    call(2, value.identity());
  }
  // Text with the same numbers as characters.
  void bytes(const Value& value) {
    const std::string& all = value.as_bytes();
    if (all.empty()) {
      out_.global("__builtin__", "bytes");
      return call(0, value.identity());
    }
    std::string text;
    meter_.memory(2 * all.size());
    text.reserve(2 * all.size());
    for (const char c : all) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x80) {
        text.push_back(c);
      } else {
        text.push_back(static_cast<char>(0xc0 | byte >> 6));
        text.push_back(static_cast<char>(0x80 | (byte & 0x3f)));
      }
    }
    out_.global("_codecs", "encode");
    out_.text(text, nullptr);
    meter_.release(2 * all.size());
    out_.text(kLatin1, &kLatin1);
    call(2, value.identity());
  }
  void device(Device device) {
    out_.global("torch", "device");
    const std::string name = device.str();
    const std::size_t colon = name.find(':');
    out_.text(name.substr(0, colon), nullptr);
    if (colon != name.npos) out_.integer(*device.index());
    call(colon == name.npos ? 1 : 2, nullptr);
  }
  void size(const Shape& shape, const void* identity) {
    out_.global("torch", "Size");
    out_.tuple_of_integers(shape.data(), shape.size());
    call(1, identity);
  }

  void list(const Value& value, int depth) {
    out_.op(kEmptyList);
    out_.remember(value.identity());
    const auto items = value.items();
    out_.items(Batches::of_list, items.size(),
               [&](std::size_t i) { this->value(items[i], depth + 1); });
  }
  void tuple(const Value& value, int depth) {
    const auto items = value.items();
    out_.begin_tuple(items.size());
    for (const Value& item : items) this->value(item, depth + 1);
    out_.end_tuple(items.size());
    if (!items.empty()) out_.remember(value.identity());
  }
  static bool is_call(const Value& value) {
    switch (value.kind()) {
      case Kind::list:
      case Kind::tuple: return false;
      case Kind::dict: return value.is_ordered_dict();
      default: return true;
    }
  }
  // Sets in a set are frozen ones: Python hashes no others.
  void set(const Value& value, int depth, bool inside = false) {
    out_.global("__builtin__", inside ? "frozenset" : "set");
    out_.op(kEmptyList);
    out_.remember(nullptr);
    const auto items = value.items();
    out_.items(Batches::of_list, items.size(),
               [&](std::size_t i) { item_of_set(items[i], depth + kSetLevels); });
    call(1, inside ? &frozen_.at(value.identity()) : value.identity());
  }
  void item_of_set(const Value& item, int depth) {
    check_written_item(item, meter_);
    if (item.kind() != Kind::set) return value(item, depth);
    // Not by its identity, under which it may be a set elsewhere.
    const auto place = frozen_.try_emplace(item.identity(), '\0').first;
    once(item, &place->second, depth, [&] { set(item, depth, true); });
  }
  void dict(const Value& value, int depth) {
    entries_of(value, [&](const Value& key, const Value& item) {
      check_written_key(key, meter_);
      this->value(key, depth + 1);
      this->value(item, depth + 1);
    });
    attributes_of(value, depth);
  }
  // Behind a dict that has some.
  void attributes_of(const Value& dict, int depth) {
    const Value attributes = dict.attributes();
    if (attributes.is_none() || attributes.entries().empty()) return;
    this->attributes(attributes, depth + 1);
    out_.build(!dict.entries().empty());
  }
  // A dict of either kind, without attributes; `entry` writes a key and its value.
  template <class Entry>
  void entries_of(const Value& dict, Entry&& entry) {
    const auto entries = dict.entries();
    const bool ordered = dict.is_ordered_dict();
    if (ordered) {
      empty_ordered_dict(dict.identity());
    } else {
      out_.op(kEmptyDict);
      out_.remember(dict.identity());
    }
    out_.items(ordered ? Batches::of_mapping : Batches::of_dict, entries.size(),
               [&](std::size_t i) { entry(entries[i].first, entries[i].second); });
  }
  // Their dict. The metadata of a state dict notes the same few things for every module. In Python
  // the names of these are one text each, wherever the module is.
  void attributes(const Value& attributes, int depth) {
    out_.op(kEmptyDict);
    out_.remember(nullptr);
    const auto entries = attributes.entries();
    out_.items(Batches::of_dict, entries.size(), [&](std::size_t i) {
      const auto& [name, item] = entries[i];
      check_written_key(name, meter_);
      value(name, depth + 1);
      const bool metadata = name.kind() == Kind::string && name.as_string() == "_metadata" &&
                            item.kind() == Kind::dict;
      if (metadata)
        module_notes(item, depth + 1);
      else
        value(item, depth + 1);
    });
  }
  void module_notes(const Value& metadata, int depth) {
    once(metadata, metadata.identity(), depth, [&] {
      entries_of(metadata, [&](const Value& module, const Value& noted) {
        check_written_key(module, meter_);
        value(module, depth + 1);
        notes(noted, depth + 1);
      });
      attributes_of(metadata, depth);
    });
  }
  void notes(const Value& notes, int depth) {
    if (notes.kind() != Kind::dict || notes.is_ordered_dict()) return value(notes, depth);
    once(notes, notes.identity(), depth, [&] {
      entries_of(notes, [&](const Value& key, const Value& note) {
        check_written_key(key, meter_);
        if (key.kind() == Kind::string)
          interned(key.as_string());
        else
          value(key, depth + 1);
        value(note, depth + 1);
      });
    });
  }
  // Names in a program, which Python has once.
  void interned(const std::string& name) {
    const auto [place, fresh] = interned_.insert(name);
    if (fresh) meter_.text(name.size());
    out_.text(*place, &*place);
  }
  void empty_ordered_dict(const void* identity) {
    out_.global("collections", "OrderedDict");
    call(0, identity);
  }

  // ---- tensors

  using Attributes = std::span<const std::pair<std::string, Value>>;
  void tensor(const Tensor& tensor, const void* identity, int depth) {
    if (is_uninitialized(tensor.body())) return uninitialized(tensor, identity);
    if (tensor.body().is_wrapper()) {
      held_.push_back(flattened_value(tensor.body(), tensor));
      ++in_tensors_;
      value(held_.back(), depth + 1);
      --in_tensors_;
      return out_.remember_as(held_.back().identity(), identity);
    }
    const Attributes attributes = held_attributes(tensor);
    if (tensor.is_parameter()) {
      out_.global("torch._utils",
                  attributes.empty() ? "_rebuild_parameter" : "_rebuild_parameter_with_state");
      if (!attributes.empty()) out_.mark();
      plain(tensor, false, nullptr);
      out_.boolean(tensor.requires_grad());
      empty_ordered_dict(nullptr);
      if (!attributes.empty()) state(attributes, depth);
      return call(attributes.empty() ? 3 : 4, identity);
    }
    if (attributes.empty()) return plain(tensor, tensor.requires_grad(), identity);
    out_.global("torch._tensor", "_rebuild_from_type_v2");
    out_.mark();
    const Arguments how = arguments(tensor);
    out_.global("torch._utils", how.function);
    out_.global("torch", "Tensor");
    write(tensor, tensor.requires_grad(), how);
    out_.end_tuple(how.count);
    out_.remember(nullptr);
    state(attributes, depth);
    call(4, identity);
  }
  // As they are now: what one of them is made of is its class's code, which may change them. They
  // are kept as long as the memo, which knows them by their identities.
  Attributes held_attributes(const Tensor& tensor) {
    const auto* own = BodyEditor::attributes(tensor.body());
    if (own == nullptr || own->values.empty()) return {};
    std::uint64_t cost = 2 * ReadMeter::kObject;
    for (const auto& [name, value] : own->values) cost += sizeof(own->values[0]) + name.size();
    meter_.memory(cost);
    attributes_cost_ += cost;
    return attributes_.emplace_back(own->values);
  }
  // The class with requires_grad, as PyTorch writes it; dtype and device, which are lost there, are
  // further arguments that it takes, where they are not the usual ones.
  void uninitialized(const Tensor& tensor, const void* identity) {
    const bool usual = tensor.dtype() == float32 && tensor.is_cpu();
    out_.global("torch.nn.parameter", tensor.body().type_name());
    out_.boolean(tensor.requires_grad());
    if (!usual) {
      device(tensor.device());
      out_.global("torch", info(tensor.dtype()).name);
    }
    call(usual ? 1 : 3, identity);
  }
  void state(Attributes attributes, int depth) {
    for (const auto& [name, value] : attributes) {
      if (is_tensors_own(name)) {
        throw ValueError(concat("save: an attribute named ", shown(name),
                                ", which PyTorch would take for the tensor's own: rename it"));
      }
    }
    out_.op(kEmptyDict);
    out_.remember(nullptr);
    ++in_tensors_;
    out_.items(Batches::of_dict, attributes.size(), [&](std::size_t i) {
      interned(attributes[i].first);
      value(attributes[i].second, depth + 3);
    });
    --in_tensors_;
  }

  // The function that makes it again, and how many arguments that takes.
  struct Arguments {
    std::string_view function;
    std::size_t count;
    bool has_storage, untyped;
  };
  Arguments arguments(const Tensor& tensor) const {
    if (!supply_.has_bytes(tensor)) return {"_rebuild_meta_tensor_no_storage", 4, false, false};
    const bool untyped = !has_storage_class(tensor.dtype());
    const std::size_t bits = tensor.layout().conj || tensor.layout().neg ? 1 : 0;
    return {untyped ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2", (untyped ? 7 : 6) + bits, true,
            untyped};
  }
  void plain(const Tensor& tensor, bool requires_grad, const void* identity) {
    const Arguments how = arguments(tensor);
    out_.global("torch._utils", how.function);
    write(tensor, requires_grad, how);
    call(how.count, identity);
  }
  void write(const Tensor& tensor, bool requires_grad, const Arguments& how) {
    const Layout& layout = tensor.layout();
    check_dimensions(layout.shape);
    out_.mark();
    if (!how.has_storage) {
      out_.global("torch", info(layout.dtype).name);
      out_.tuple_of_integers(layout.shape.data(), layout.shape.size());
      out_.tuple_of_integers(layout.strides.data(), layout.strides.size());
      out_.boolean(requires_grad);
      return;
    }
    strided(tensor, layout.shape, layout.strides, layout.dtype);
    out_.boolean(requires_grad);
    empty_ordered_dict(nullptr);
    if (how.untyped) out_.global("torch", info(layout.dtype).name);
    if (!layout.conj && !layout.neg) return;
    out_.op(kEmptyDict);
    out_.remember(nullptr);
    // In the order of PyTorch's table.
    const char* const names[] = {layout.neg ? "neg" : "conj", "conj"};
    out_.items(Batches::of_dict, layout.conj && layout.neg ? 2 : 1, [&](std::size_t i) {
      out_.text(names[i], nullptr);
      out_.boolean(true);
    });
  }
  void strided(const Tensor& tensor, const Shape& shape, const Dims& strides, DType dtype) {
    storage(tensor, dtype);
    out_.integer(tensor.layout().offset);
    out_.tuple_of_integers(shape.data(), shape.size());
    out_.tuple_of_integers(strides.data(), strides.size());
  }

  // A storage may end inside of an element, which no tensor can use and no file can say: PyTorch
  // writes all bytes, and does not read them again.
  static std::shared_ptr<Payload> whole_elements(std::shared_ptr<Payload> storage, DType dtype) {
    const std::uint64_t behind = storage->size() % static_cast<std::uint64_t>(itemsize(dtype));
    return behind == 0 ? storage : storage->slice(0, storage->size() - behind);
  }

  struct Known {
    std::string key;  // its address is the text's identity
    DType dtype;
    bool empty;  // such a storage is of any dtype
  };
  void storage(const Tensor& tensor, DType dtype) {
    const bool untyped = !has_storage_class(dtype);
    const DType elements = untyped ? uint8 : dtype;
    const auto [place, fresh] = known_.try_emplace(tensor.storage().identity());
    Known& known = place->second;
    if (fresh) {
      std::shared_ptr<Payload> all = supply_.storage(tensor);
      meter_.memory(kPayloadCost + kKnownCost);
      known = {std::to_string(storages_.size()), elements, all->size() == 0};
      storages_.push_back(whole_elements(std::move(all), elements));
    } else if (known.dtype != elements && !known.empty) {
      throw ValueError(concat("save: tensors that view the same data as different types (",
                              info(known.dtype).name, " and ", info(dtype).name,
                              ") cannot be saved in one file: save a clone() of one of them"));
    }
    const std::uint64_t bytes = storages_[std::stoull(known.key)]->size();
    out_.mark();
    out_.text(kStorage, &kStorage);
    if (untyped)
      out_.global("torch.storage", "UntypedStorage");
    else
      out_.global("torch", concat(info(dtype).scalar_name, "Storage"));
    out_.text(known.key, &known.key);
    const std::string where = supply_.location(tensor);
    // No device has a longer name; a file may say anything, of many storages.
    if (where.size() > kLongestDevice)
      interned(where);
    else
      out_.text(where, where == "cpu" ? &kCpu : nullptr);
    out_.integer(static_cast<std::int64_t>(bytes / static_cast<std::uint64_t>(itemsize(elements))));
    out_.end_tuple(5);
    out_.remember(nullptr);
    out_.op(kBinPersId);
  }

  // ---- what is made of tensors

  void object(const Value& value, int depth) {
    const std::string& name = value.object_name();
    check_whole_composite(value);
    check_written_composite(value, meter_);
    if (name == kSparseName) return sparse(value, depth);
    if (name == kQuantizedName) return quantized(value, depth);
    if (name == kNestedName) return nested(value, depth);
    if (name == kLayoutName) return layout(value.object_arguments().items()[0].as_string());
    if (name == kCounterName) {
      out_.global("collections", "Counter");
      this->value(value.object_arguments().items()[0], depth + 2);
      return call(1, value.identity());
    }
    out_.global("torch", std::string_view(name).substr(name.rfind('.') + 1));  // a scheme
  }
  static const Value& field(const Value& object, const char* name) {
    const Value* found = object.object_state().find(name);
    if (found == nullptr)
      throw ValueError(concat("save: a ", object.object_name(), " without its ", name));
    return *found;
  }
  // The same object wherever it is named.
  void layout(const std::string& name) {
    const auto place = layouts_.insert(name).first;
    if (out_.again(&*place)) return;
    out_.global("torch.serialization", "_get_layout");
    out_.text(name, nullptr);
    call(1, &*place);
  }
  void sparse(const Value& value, int depth) {
    const std::string& kind = field(value, "layout").as_string();
    const bool coo = kind == "torch.sparse_coo";
    const bool rows = kind == "torch.sparse_csr" || kind == "torch.sparse_bsr";
    out_.global("torch._utils", "_rebuild_sparse_tensor");
    layout(kind);
    const bool coalesced = value.object_state().find("is_coalesced") != nullptr;
    const std::size_t n = coo && !coalesced ? 3 : 4;
    out_.begin_tuple(n);
    if (coo) {
      for (const char* part : {"indices", "values", "size"})
        this->value(field(value, part), depth + 3);
      if (coalesced) this->value(field(value, "is_coalesced"), depth + 3);
    } else {
      for (const char* part : {rows ? "crow_indices" : "ccol_indices",
                               rows ? "col_indices" : "row_indices", "values", "size"})
        this->value(field(value, part), depth + 3);
    }
    out_.end_tuple(n);
    out_.remember(nullptr);
    call(2, value.identity());
  }
  void quantized(const Value& value, int depth) {
    const Tensor data = field(value, "data").as_tensor();
    const std::string& scheme = field(value, "qscheme").as_string();
    const bool by_channel = value.object_state().find("axis") != nullptr;
    const Shape& shape = field(value, "size").as_size();
    out_.global("torch._utils", "_rebuild_qtensor");
    out_.mark();
    // Numbers of a few bits are kept as their bytes, which follow each other.
    const bool packed = shape.size() != static_cast<std::size_t>(data.dim()) ||
                        values_in_element(data.dtype()) != 1;
    strided(data, shape,
            packed ? Layout::packed(shape, uint8, Device::meta()).strides : data.layout().strides,
            data.dtype());
    out_.begin_tuple(by_channel ? 4 : 3);
    out_.global("torch", std::string_view(scheme).substr(scheme.rfind('.') + 1));
    this->value(field(value, by_channel ? "scales" : "scale"), depth + 3);
    this->value(field(value, by_channel ? "zero_points" : "zero_point"), depth + 3);
    if (by_channel) this->value(field(value, "axis"), depth + 3);
    out_.end_tuple(by_channel ? 4 : 3);
    out_.remember(nullptr);
    out_.boolean(data.requires_grad());
    empty_ordered_dict(nullptr);
    call(7, value.identity());
  }
  void nested(const Value& value, int depth) {
    out_.global("torch._utils", "_rebuild_nested_tensor");
    out_.mark();
    for (const char* part : {"buffer", "sizes", "strides", "offsets"})
      this->value(field(value, part), depth + 2);
    call(4, value.identity());
  }

  // Texts that are one object in PyTorch's own code.
  static constexpr std::string_view kStorage = "storage", kCpu = "cpu", kLatin1 = "latin1";
  static constexpr std::size_t kLongestDevice = 32;
  // About what is kept of a payload, of its storage here, and of how deep a value is.
  std::unordered_set<const void*> long_integers_;  // that have been written
  static constexpr std::uint64_t kPayloadCost = 304, kKnownCost = 144, kLevelsCost = 48;

  Supply& supply_;
  ReadMeter& meter_;
  PickleWriter out_;
  std::vector<std::shared_ptr<Payload>> storages_;
  std::unordered_map<const void*, Known> known_;  // by the storages' identities
  // Levels that a call takes with its arguments, and the items of a set below it.
  static constexpr int kCallLevels = 8, kSetLevels = 3;
  std::unordered_set<const void*> open_;  // what is being written, by identity
  int in_tensors_ = 0;                    // how many of these are what a tensor has or is made of
  int reached_ = 0;                       // Note [How deep what we write is]
  std::unordered_map<const void*, int> levels_;  // by identity, where they are more than its own
  // Ordered, not hashed: a file may have chosen them.
  std::set<std::string, std::less<>> layouts_, interned_;
  std::unordered_map<const void*, char> frozen_;  // sets in sets, by identity
  std::deque<Value> held_;                        // made here, and their identities in the memo
  std::deque<std::vector<std::pair<std::string, Value>>> attributes_;  // of tensors
  std::uint64_t attributes_cost_ = 0;
};

}  // namespace

Pickled pickled(const Value& value, Supply& supply, ReadMeter& meter) {
  Pickler pickler(supply, meter);
  pickler.value(value, 0);
  Pickled done = pickler.finish();
  std::uint64_t bytes = 0;
  for (const auto& storage : done.storages) bytes += storage->size();
  supply.will_write(bytes);
  return done;
}

}  // namespace tenon
