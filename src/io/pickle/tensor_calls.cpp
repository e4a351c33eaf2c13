#include "io/pickle/tensor_calls.h"

#include <optional>

#include "base/checked.h"
#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

namespace {

using ItemKind = PickleItem::Kind;
using NodeKind = PickleNode::Kind;

// Of storages and locations: as names in archives.
constexpr std::size_t kLongestKey = 4096, kShortKey = 64;

}  // namespace

Role TensorCalls::role(const PickleItem& global) const {
  return meaning(pickle_.node(global)).role;
}

void TensorCalls::wrong(const Arguments& args, std::string_view what) const {
  pickle_.fail(args.call, concat(pickle_.name_of(pickle_.node(args.call.a)), ": ", what));
}

void TensorCalls::need(const Arguments& args, std::size_t least, std::size_t most) const {
  if (args.items.size() < least || args.items.size() > most)
    wrong(args, concat(args.items.size(), " arguments, and ", least, " to ", most, " are known"));
}

std::int64_t TensorCalls::integer(const Arguments& args, const PickleItem& item,
                                  std::string_view what) const {
  if (item.kind != ItemKind::integer) wrong(args, concat(what, " is no integer"));
  return item.integer;
}

bool TensorCalls::boolean(const Arguments& args, const PickleItem& item,
                          std::string_view what) const {
  if (item.kind != ItemKind::boolean) wrong(args, concat(what, " is no bool"));
  return item.integer != 0;
}

const PickleNode& TensorCalls::node(const Arguments& args, const PickleItem& item, NodeKind kind,
                                    std::string_view what) const {
  if (item.kind != ItemKind::node || pickle_.node(item).kind != kind)
    wrong(args, concat("no ", what));
  return pickle_.node(item);
}

Dims TensorCalls::dims(const Arguments& args, const PickleItem& item, std::string_view what) const {
  Dims out;
  read_dims(args, item, what, out);
  return out;
}

void TensorCalls::read_dims(const Arguments& args, const PickleItem& item, std::string_view what,
                            Dims& out) const {
  const PickleNode* from = item.kind == ItemKind::node ? &pickle_.node(item) : nullptr;
  if (from != nullptr && from->kind == NodeKind::call && role(from->a) == Role::size) {
    const auto inner = pickle_.items(pickle_.node(from->b));
    if (inner.size() != 1) wrong(args, concat("no ", what));
    from = inner[0].kind == ItemKind::node ? &pickle_.node(inner[0]) : nullptr;
  }
  if (from == nullptr || (from->kind != NodeKind::tuple && from->kind != NodeKind::list))
    wrong(args, concat(what, " are no tuple"));
  const auto items = pickle_.items(*from);
  if (items.size() > kMostDimensions)
    wrong(args, concat(items.size(), " dimensions are more than ", kMostDimensions));
  meter_.work(items.size());
  out.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) out[i] = integer(args, items[i], what);
}

DType TensorCalls::dtype(const Arguments& args, const PickleItem& item) const {
  const PickleNode& global = node(args, item, NodeKind::global, "dtype");
  const Meaning found = meaning(global);
  if (found.role != Role::dtype)
    wrong(args, concat("a dtype named ", pickle_.name_of(global), " is not known"));
  return found.dtype;
}

std::string_view TensorCalls::text_of(const PickleNode& at, const PickleItem& item,
                                      std::string_view what) const {
  if (item.kind != ItemKind::text) pickle_.fail(at, concat("storage: ", what, " is no text"));
  // They are looked for, compared and copied for each tensor.
  if (item.length > kLongestKey)
    pickle_.fail(at, concat("storage: ", what, " has more than ", kLongestKey, " bytes"));
  meter_.work(item.length / 4);
  return pickle_.text(item);
}

std::int64_t TensorCalls::count_of(const PickleNode& at, const PickleItem& item) const {
  if (item.kind != ItemKind::integer || item.integer < 0)
    pickle_.fail(at, "storage: its size is no count");
  return item.integer;
}

TensorCalls::StorageUse TensorCalls::storage(const PickleNode& id) {
  if (id.a.kind != ItemKind::node || pickle_.node(id.a).kind != NodeKind::tuple)
    pickle_.fail(id, "a persistent id that is no tuple");
  const auto parts = pickle_.items(pickle_.node(id.a));
  if ((parts.size() != 5 && parts.size() != 6) || parts[0].kind != ItemKind::text ||
      pickle_.text(parts[0]) != "storage")
    pickle_.fail(id, "a persistent id of something else than a storage");
  if (parts[1].kind != ItemKind::node || pickle_.node(parts[1]).kind != NodeKind::global)
    pickle_.fail(id, "storage: its class is no name");
  const PickleNode& kind = pickle_.node(parts[1]);
  StorageId out;
  const Meaning found = meaning(kind);
  out.untyped = found.role == Role::untyped_storage;
  if (!out.untyped && found.role != Role::storage)
    pickle_.fail(kind, concat(pickle_.name_of(kind), " is no class of storages"));
  out.dtype = found.dtype;
  out.arity = parts.size();
  out.key = text_of(id, parts[2], "its key");
  // It is looked for by comparing it with others, some of which may begin as it does.
  if (out.key.size() > kShortKey) meter_.work(8 * out.key.size());
  out.location = text_of(id, parts[3], "its location");
  out.numel = count_of(id, parts[4]);
  if (parts.size() == 6 && parts[5].kind != ItemKind::none) {
    if (parts[5].kind != ItemKind::node || pickle_.node(parts[5]).kind != NodeKind::tuple ||
        pickle_.items(pickle_.node(parts[5])).size() != 3)
      pickle_.fail(id, "storage: its part is no tuple of three");
    const auto part = pickle_.items(pickle_.node(parts[5]));
    out.is_view = true;
    out.view_key = text_of(id, part[0], "the key of its part");
    meter_.memory(3 * ReadMeter::kObject);
    out.view_offset = count_of(id, part[1]);
    out.view_size = count_of(id, part[2]);
  }
  const std::uint32_t number = storages_.storage(out, id.offset);
  if (!out.is_view) return {number, out.dtype, out.untyped, 0, storages_.storage_bytes(number)};
  return {
      number, out.dtype, out.untyped, out.view_offset,
      static_cast<std::uint64_t>(out.view_size) * static_cast<std::uint64_t>(itemsize(out.dtype))};
}

Tensor TensorCalls::of_storage(const PickleNode& id) {
  const StorageUse use = storage(id);
  TensorRecord record;
  record.storage = use.number;
  record.dtype = use.dtype;
  record.offset = use.offset;
  record.shape = Shape({static_cast<std::int64_t>(use.bytes) / itemsize(use.dtype)});
  record.stride = {1};
  charge_tensor(1);
  return built(record);
}

Tensor TensorCalls::built(const TensorRecord& record) {
  storages_.used_by(record);
  return builder_.tensor(record);
}

void TensorCalls::charge_tensor(std::size_t dimensions) {
  meter_.work(64);
  const std::size_t on_heap = dimensions > Dims::kInline ? dimensions : 0;
  meter_.memory(ReadMeter::kTensor + 2 * on_heap * sizeof(std::int64_t));
}

Tensor TensorCalls::tensor(const Arguments& args, TensorRecord& record, const StorageUse& use) {
  check(args, record, use.bytes);
  charge_tensor(record.shape.size());
  if (use.offset == 0) return built(record);
  // A part begins behind so many elements of the storage, and the tensor may be of larger ones.
  const std::int64_t begin = use.offset * itemsize(use.dtype), size = itemsize(record.dtype);
  if (begin % size != 0) wrong(args, "a part of a storage that begins inside of an element");
  const auto offset = checked_add(record.offset, begin / size);
  if (!offset) wrong(args, "an offset that overflows");
  record.offset = *offset;
  check(args, record, static_cast<std::uint64_t>(begin) + use.bytes);
  return built(record);
}

Tensor TensorCalls::tensor(const Arguments& args, const TensorRecord& record) {
  check(args, record, kAnyBytes);
  charge_tensor(record.shape.size());
  return built(record);
}

void TensorCalls::check(const Arguments& args, const TensorRecord& record,
                        std::uint64_t bytes) const {
  if (const std::string wrong_text = wrong_geometry(record, bytes); !wrong_text.empty())
    wrong(args, wrong_text);
  if (record.requires_grad && !is_differentiable(record.dtype))
    wrong(args, concat("a tensor of ", info(record.dtype).name, " cannot require grad"));
}

void TensorCalls::hooks(const Arguments& args, const PickleItem& item) const {
  if (item.kind == ItemKind::none) return;
  if (item.kind != ItemKind::node) wrong(args, "its hooks are no dict");
  const PickleNode& at = pickle_.node(item);
  const bool dict =
      at.kind == NodeKind::dict || (at.kind == NodeKind::call && role(at.a) == Role::ordered_dict);
  if (!dict || !pickle_.items(at).empty()) wrong(args, "it has hooks, which would be code");
}

void TensorCalls::metadata(const Arguments& args, const PickleItem& item,
                           TensorRecord& record) const {
  if (item.kind == ItemKind::none) return;
  const PickleNode& dict = node(args, item, NodeKind::dict, "metadata");
  const auto items = pickle_.items(dict);
  meter_.work(2 * items.size());
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].kind != ItemKind::text) wrong(args, "metadata with a key that is no text");
    const std::string_view key = pickle_.text(items[i]);
    if (key != "conj" && key != "neg") wrong(args, concat("metadata ", key, " is not known"));
    // PyTorch sets the bit whatever the value is, and writes only True.
    if (!boolean(args, items[i + 1], key)) wrong(args, concat("metadata ", key, " that is False"));
    (key == "conj" ? record.conj : record.neg) = true;
  }
  if (record.conj && !is_complex(record.dtype)) wrong(args, "the conjugate of a real number");
  if (record.neg && (is_opaque(record.dtype) || is_quantized(record.dtype)))
    wrong(args, concat("the negative of ", info(record.dtype).name, ", which has none"));
}

TensorCalls::StorageUse TensorCalls::storage_of(const Arguments& args) {
  return storage(node(args, args.items[0], NodeKind::persistent, "storage"));
}

TensorRecord TensorCalls::strided(const Arguments& args, const StorageUse& use) const {
  TensorRecord record;
  // In place: a copy right behind the writing waits for it.
  read_dims(args, args.items[2], "sizes", record.shape);
  read_dims(args, args.items[3], "strides", record.stride);
  record.storage = use.number;
  record.dtype = use.dtype;
  record.offset = integer(args, args.items[1], "the offset");
  return record;
}

Tensor TensorCalls::of_tensor(const Arguments& args, Role role) {
  const bool typed = role == Role::rebuild_tensor_v3, old = role == Role::rebuild_tensor;
  need(args, old ? 4 : typed ? 7 : 6, old ? 4 : typed ? 8 : 7);
  const StorageUse use = storage_of(args);
  TensorRecord record = strided(args, use);
  if (use.untyped && !typed) wrong(args, "a storage of bytes without a dtype");
  if (old) return tensor(args, record, use);
  record.requires_grad = boolean(args, args.items[4], "requires_grad");
  hooks(args, args.items[5]);
  if (typed) record.dtype = dtype(args, args.items[6]);
  const std::size_t last = typed ? 7 : 6;
  if (args.items.size() > last) metadata(args, args.items[last], record);
  return tensor(args, record, use);
}

Tensor TensorCalls::of_meta(const Arguments& args) {
  need(args, 4, 4);
  TensorRecord record;
  record.dtype = dtype(args, args.items[0]);
  record.shape = Shape(dims(args, args.items[1], "sizes"));
  record.stride = dims(args, args.items[2], "strides");
  record.requires_grad = boolean(args, args.items[3], "requires_grad");
  return tensor(args, record);
}

void TensorCalls::as_bytes(const Arguments& args, TensorRecord& record) const {
  // Without numbers the strides say nothing.
  const bool empty = std::find(record.shape.begin(), record.shape.end(), 0) != record.shape.end();
  std::int64_t expected = 1;
  for (std::size_t d = record.shape.size(); d-- > 0;) {
    const std::int64_t size = record.shape[d];
    if (size < 0 || d >= record.stride.size() ||
        (!empty && size != 1 && record.stride[d] != expected))
      wrong(args, "numbers of a few bits that do not follow each other");
    const auto next = checked_mul(expected, std::max<std::int64_t>(size, 1));
    if (!next) wrong(args, "sizes that overflow");
    expected = *next;
  }
  const auto bytes = bytes_of_few_bits(record.shape, record.dtype);
  if (!bytes) wrong(args, "sizes that overflow");
  if (record.offset != 0) wrong(args, "numbers of a few bits with an offset");
  record.shape = Shape({*bytes});
  record.stride = {1};
}

}  // namespace tenon
