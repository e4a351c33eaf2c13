#include "io/pickle/rebuild.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "core/secret_hash.h"
#include "core/value_depth.h"
#include "io/pickle/composite_calls.h"
#include "io/pickle/plain_key.h"
#include "tenon/error.h"

namespace tenon {

namespace {

using ItemKind = PickleItem::Kind;
using NodeKind = PickleNode::Kind;

class Rebuilder final : private CompositeCalls {
 public:
  Rebuilder(const Pickle& pickle, StorageFinder& storages, Builder& builder, bool inert,
            ReadMeter& meter)
      : CompositeCalls(pickle, storages, builder, meter), inert_(inert) {
    meter_.memory(pickle.shared_nodes() * sizeof(Shared));
    shared_.resize(pickle.shared_nodes());
  }

  Value value(const PickleItem& item, int depth) override {
    switch (item.kind) {
      case ItemKind::nothing:
      case ItemKind::none: return {};
      case ItemKind::boolean: return item.integer != 0;
      case ItemKind::integer: return item.integer;
      case ItemKind::big_integer: return text(item);
      case ItemKind::real: return item.real;
      case ItemKind::text:
      case ItemKind::bytes: return text(item);
      case ItemKind::node: break;
    }
    const PickleNode& node = pickle_.node(item);
    // Only what is in several places can contain itself, or be wanted again.
    Shared* shared = node.shared == PickleNode::kNone ? nullptr : &shared_[node.shared];
    if (shared != nullptr && shared->height == kBusy)
      pickle_.fail(node, "an object that contains itself");
    if (shared != nullptr && shared->height != kNew) {
      deepest_ = std::max(deepest_, shared->height);
      return shared->value;
    }
    if (depth > kMaxDepth)
      pickle_.fail(node, concat("objects in more than ", kMaxDepth, " levels"));
    if (shared != nullptr) shared->height = kBusy;
    // How many levels there are below, whatever was finished when: what is shared may be high.
    const std::uint16_t beside = std::exchange(deepest_, std::uint16_t{0});
    Value made = of_node(node, depth);
    if (deepest_ >= kMaxDepth)
      pickle_.fail(node, concat("objects in more than ", kMaxDepth, " levels"));
    const auto height = static_cast<std::uint16_t>(deepest_ + 1);
    deepest_ = std::max(beside, height);
    if (shared != nullptr) *shared = {made, height};
    return made;
  }

 private:
  // A text that is one object in many places is one here too.
  Value text(const PickleItem& item) {
    if (!pickle_.is_shared_text(item)) return fresh_text(item);
    const auto [known, fresh] = shared_texts_.try_emplace(item.place);
    if (fresh) {
      meter_.memory(ReadMeter::kObject);
      known->second = fresh_text(item);
    }
    return known->second;
  }
  Value fresh_text(const PickleItem& item) {
    meter_.text(item.length);
    const std::string_view bytes = pickle_.text(item);
    if (item.kind == ItemKind::big_integer) return Value::big_integer(bytes);
    return item.kind == ItemKind::text ? Value(bytes) : Value::bytes(std::string(bytes));
  }

  // A node that is in several places: its value, and how many levels it has.
  static constexpr std::uint16_t kNew = 0, kBusy = 0xffff;
  struct Shared {
    Value value;
    std::uint16_t height = kNew;
  };

  Value of_node(const PickleNode& node, int depth) {
    switch (node.kind) {
      case NodeKind::list: return Value::list(values(pickle_.items(node), depth));
      case NodeKind::tuple: return Value::tuple(values(pickle_.items(node), depth));
      case NodeKind::set:
      case NodeKind::frozen_set: {
        Value made = set_of(values(pickle_.items(node), depth));
        check_hashable(pickle_.items(node));
        return made;
      }
      case NodeKind::dict: return Value::dict(entries(node, depth));
      case NodeKind::byte_array:
        meter_.text(node.a.length);
        return Value::bytes(std::string(pickle_.text(node.a)));
      case NodeKind::global: return of_global(node);
      case NodeKind::persistent: return of_storage(node);
      case NodeKind::call:
      case NodeKind::object: return of_call(node, depth);
    }
    __builtin_unreachable();
  }

  std::vector<Value> values(std::span<const PickleItem> items, int depth) {
    charge_values(items.size());
    std::vector<Value> out;
    out.reserve(items.size());
    for (const PickleItem& item : items) out.push_back(value(item, depth + 1));
    return out;
  }
  void charge_values(std::size_t count) {
    meter_.work(count + 1);
    meter_.memory(ReadMeter::kObject + count * sizeof(Value));
  }
  Value set_of(std::vector<Value> items) {
    return Value::set(unique_items(std::move(items), meter_));
  }

  // Python hashes neither what changes, sets and byte arrays, nor tuples that hold such. A storage
  // it does, and finds it again under its key: here it would be a tensor, and as often as it is
  // named. Comes after what looks how deep they are, and how large.
  void check_hashable(std::span<const PickleItem> items) {
    meter_.work(items.size());
    for (const PickleItem& item : items) {
      if (item.kind != ItemKind::node) continue;
      const PickleNode& node = pickle_.node(item);
      const bool called = node.kind == NodeKind::call || node.kind == NodeKind::object;
      const Role kind = called ? role(node.a) : Role::unknown;
      if (node.kind == NodeKind::set || node.kind == NodeKind::byte_array || kind == Role::set ||
          kind == Role::byte_array)
        pickle_.fail(node, "a key or an item of a set that can change");
      if (node.kind == NodeKind::persistent) pickle_.fail(node, "a storage as an item of a set");
      if (node.kind == NodeKind::tuple) check_hashable(pickle_.items(node));
    }
  }

  void check_key(const PickleNode& dict, const Value& key) {
    if (!charge_key(key, meter_)) pickle_.fail(dict, "a key of a dict that is no plain value");
  }

  std::vector<Value::Entry> entries(const PickleNode& node, int depth) {
    const auto items = pickle_.items(node);
    charge_entries(items.size() / 2);
    std::vector<Value::Entry> out;
    out.reserve(items.size() / 2);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      Value key = value(items[i], depth + 1);
      check_key(node, key);
      if (key.kind() != Value::Kind::string) check_hashable(items.subspan(i, 1));
      out.emplace_back(std::move(key), value(items[i + 1], depth + 1));
    }
    return out;
  }

  Value of_global(const PickleNode& node) {
    const Role role = meaning(node).role;
    if (role == Role::dtype) return meaning(node).dtype;
    if (role != Role::scheme && !inert_)
      pickle_.fail(node, concat(pickle_.name_of(node), " where a value should be"));
    // What a name stands for is one object, however often it is named: a set has it once.
    std::string name = charged_name(node);
    if (const auto known = named_.find(name); known != named_.end()) return known->second;
    meter_.text(name.size() + 2 * ReadMeter::kObject);
    Value made = Value::object(name, Value::tuple({}), {});
    named_.emplace(std::move(name), made);
    return made;
  }
  // "module.name" of a global, for an object that keeps it.
  std::string charged_name(const PickleNode& global) {
    // Twice, as text that is put together may have that much room.
    meter_.text(2 * (global.a.length + global.b.length) + 3 * ReadMeter::kObject);
    return pickle_.name_of(global);
  }

  // func(*args) of a tensor class, and its attributes.
  Value of_type(const Arguments& args, int depth) {
    need(args, 4, 4);
    const PickleNode& function = node(args, args.items[0], NodeKind::global, "function");
    const PickleNode& type = node(args, args.items[1], NodeKind::global, "type");
    const PickleNode& inner = node(args, args.items[2], NodeKind::tuple, "arguments");
    const Role kind = meaning(type).role;
    const Role how = meaning(function).role;
    const Arguments own{args.call, pickle_.items(inner)};
    if ((kind != Role::tensor_class && kind != Role::parameter_class) ||
        (how != Role::rebuild_tensor_v2 && how != Role::rebuild_tensor_v3)) {
      if (!inert_)
        wrong(args, concat("a tensor of class ", pickle_.name_of(type), " is not known"));
      return as_object(args.call, depth);
    }
    const Tensor data = of_tensor(own, how);
    charge_tensor(data.layout().shape.size());
    const Tensor made =
        kind == Role::parameter_class ? builder_.parameter(data, data.requires_grad()) : data;
    set_state(args, made, args.items[3], depth);
    return made;
  }

  // ---- other calls

  Value of_call(const PickleNode& call, int depth) {
    const Arguments args{call, pickle_.items(pickle_.node(call.b))};
    const Role kind = role(call.a);
    const bool has_items = !pickle_.items(call).empty();
    const bool has_state = pickle_.state(call).kind != ItemKind::nothing;
    if (kind != Role::ordered_dict && kind != Role::counter && kind != Role::unknown &&
        (has_items || has_state))
      wrong(args, "items or a state for something that has none");
    if (call.kind == NodeKind::object) check_new(args, kind);
    switch (kind) {
      case Role::ordered_dict:
      case Role::counter: return of_dict(args, call, kind, depth);
      case Role::set:
      case Role::frozen_set: {
        Value made = set_of(listed(args, depth));
        if (!args.items.empty()) check_hashable(pickle_.items(pickle_.node(args.items[0])));
        return made;
      }
      case Role::complex:
        need(args, 2, 2);
        return std::complex<double>(real(args, args.items[0]), real(args, args.items[1]));
      case Role::encode: return encoded(args);
      case Role::bytes:
      case Role::byte_array: return byte_array(args, depth);
      case Role::size:
        need(args, 1, 1);
        charge_values(kMostDimensions);
        return Shape(dims(args, args.items[0], "sizes"));
      case Role::device: return device(args);
      case Role::layout:
        need(args, 1, 1);
        if (args.items[0].kind != ItemKind::text || args.items[0].length > kLongestWord)
          wrong(args, "its name is no short text");
        charge_entries(1);
        return Value::object(std::string(kLayoutName),
                             Value::tuple({Value(pickle_.text(args.items[0]))}), {});
      case Role::rebuild_tensor:
      case Role::rebuild_tensor_v2:
      case Role::rebuild_tensor_v3: return of_tensor(args, kind);
      case Role::rebuild_parameter:
      case Role::rebuild_parameter_with_state: return of_parameter(args, kind, depth);
      case Role::rebuild_meta: return of_meta(args);
      case Role::rebuild_sparse: return of_sparse(args, depth);
      case Role::rebuild_quantized: return of_quantized(args, depth);
      case Role::rebuild_nested: return of_nested(args, depth);
      case Role::rebuild_from_type: return of_type(args, depth);
      case Role::uninitialized_parameter:
      case Role::uninitialized_buffer: return of_uninitialized(args, kind, depth);
      case Role::unknown:
        if (inert_) return as_object(call, depth);
        [[fallthrough]];
      default: wrong(args, "it is not made by a call");
    }
  }

  // NEWOBJ makes an object of a class with __new__ alone, as far as checkpoints have such classes.
  // What takes its content in __init__ would be empty.
  void check_new(const Arguments& args, Role kind) const {
    switch (kind) {
      case Role::frozen_set:
      case Role::bytes:
      case Role::complex:
      case Role::size:
      case Role::device:
      case Role::uninitialized_parameter:
      case Role::uninitialized_buffer:
      case Role::unknown: return;
      case Role::ordered_dict:
      case Role::counter:
      case Role::set:
      case Role::byte_array:
        if (args.items.empty()) return;
        wrong(args, "arguments of a class whose __new__ takes none");
      default: wrong(args, "it is no class");
    }
  }

  Value as_object(const PickleNode& call, int depth) {
    Value arguments = value(call.b, depth + 1);
    Value state = value(pickle_.state(call), depth + 1);
    Value items;
    if (!pickle_.items(call).empty()) {
      items = call.count == 1 ? Value::list(values(pickle_.items(call), depth))
                              : Value::dict(entries(call, depth));
    }
    return Value::object(charged_name(pickle_.node(call.a)), std::move(arguments), std::move(state),
                         std::move(items));
  }

  double real(const Arguments& args, const PickleItem& item) const {
    if (item.kind == ItemKind::integer) return static_cast<double>(item.integer);
    if (item.kind != ItemKind::real) wrong(args, "a part that is no number");
    return item.real;
  }
  std::vector<Value> listed(const Arguments& args, int depth) {
    need(args, 0, 1);
    if (args.items.empty()) return {};
    const PickleItem& item = args.items[0];
    if (item.kind != ItemKind::node ||
        (pickle_.node(item).kind != NodeKind::list && pickle_.node(item).kind != NodeKind::tuple))
      wrong(args, "its items are no list");
    // As a value, which is made once if it is used in several places.
    const Value list = value(item, depth + 1);
    charge_values(list.items().size());
    return {list.items().begin(), list.items().end()};
  }

  Value of_dict(const Arguments& args, const PickleNode& call, Role kind, int depth) {
    need(args, 0, 1);
    std::vector<Value::Entry> all;
    if (!args.items.empty()) {
      const Value from = value(args.items[0], depth + 1);
      if (from.kind() == Value::Kind::dict) {
        charge_entries(from.entries().size());
        all.assign(from.entries().begin(), from.entries().end());
        for (const Value::Entry& entry : all) check_key(call, entry.first);
      } else if (kind == Role::counter) {
        wrong(args, "made from something that is no dict");  // it would count the items
      } else if (from.kind() == Value::Kind::list || from.kind() == Value::Kind::tuple) {
        charge_entries(from.items().size());
        for (const Value& pair : from.items()) {
          if ((pair.kind() != Value::Kind::list && pair.kind() != Value::Kind::tuple) ||
              pair.items().size() != 2)
            wrong(args, "an item that is no pair");
          check_key(call, pair.items()[0]);
          all.emplace_back(pair.items()[0], pair.items()[1]);
        }
        for (const PickleItem& pair : pickle_.items(pickle_.node(args.items[0])))
          check_hashable(pickle_.items(pickle_.node(pair)).first(1));
      } else {
        wrong(args, "made from something that is no dict");
      }
    }
    if (call.count == 1) wrong(args, "items without keys");
    for (Value::Entry& entry : entries(call, depth)) all.push_back(std::move(entry));
    const Value attributes = value(pickle_.state(call), depth + 1);
    if (!attributes.is_none() && attributes.kind() != Value::Kind::dict)
      wrong(args, "its state is no dict");
    return kind == Role::ordered_dict ? Value::ordered_dict(std::move(all), attributes)
                                      : Value::dict(std::move(all), attributes);
  }

  // Text whose characters are the bytes.
  Value encoded(const Arguments& args) {
    need(args, 2, 2);
    if (args.items[0].kind != ItemKind::text || args.items[1].kind != ItemKind::text ||
        pickle_.text(args.items[1]) != "latin1")
      wrong(args, "only text as latin1 is known");
    const std::string_view text = pickle_.text(args.items[0]);
    meter_.text(text.size());
    std::string bytes;
    bytes.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c < 0x80) {
        bytes.push_back(text[i]);
      } else if (c <= 0xc3 && i + 1 < text.size()) {
        bytes.push_back(static_cast<char>((c & 0x03) << 6 | (text[++i] & 0x3f)));
      } else {
        wrong(args, "a character beyond latin1");
      }
    }
    return Value::bytes(std::move(bytes));
  }

  Value byte_array(const Arguments& args, int depth) {
    need(args, 0, 1);
    if (args.items.empty()) return Value::bytes({});
    const Value from = value(args.items[0], depth + 1);
    if (from.kind() != Value::Kind::bytes) wrong(args, "made from something that is no bytes");
    return from;
  }

  Value device(const Arguments& args) const {
    need(args, 1, 2);
    if (args.items[0].kind != ItemKind::text || args.items[0].length > kLongestWord)
      wrong(args, "its type is no short text");
    std::string name(pickle_.text(args.items[0]));
    if (args.items.size() == 2) name += concat(":", integer(args, args.items[1], "its index"));
    try {
      return Device(name);
    } catch (const Error& error) {
      wrong(args, error.what());
    }
  }

  bool inert_;
  std::vector<Shared> shared_;
  std::uint16_t deepest_ = 0;  // of the children of the node that is being made
  std::map<std::uint64_t, Value> shared_texts_;
  // What names stand for that are values.
  std::unordered_map<std::string, Value, SecretHash, std::equal_to<>> named_;
};

}  // namespace

Value rebuild(const Pickle& pickle, StorageFinder& storages, Builder& builder, bool inert,
              ReadMeter& meter) {
  return Rebuilder(pickle, storages, builder, inert, meter).value(pickle.root(), 0);
}

}  // namespace tenon
