#include "tenon/checkpoint.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "base/thread_pool.h"
#include "core/alias.h"
#include "core/body_editor.h"
#include "core/element_copy.h"
#include "core/mapped_storage.h"
#include "io/compression.h"
#include "io/document.h"
#include "io/walk.h"
#include "tenon/error.h"

namespace tenon {

namespace {

Layout layout_of(const TensorRecord& record, Device device) {
  Layout layout = Layout::packed({}, record.dtype, device);
  layout.shape = record.shape;
  layout.strides = record.stride;
  layout.offset = record.offset;
  layout.conj = record.conj;
  layout.neg = record.neg;
  return layout;
}

Tensor tensor_over(const TensorRecord& record, Storage storage, Device device) {
  Tensor tensor(make_ref<Body>(layout_of(record, device), std::move(storage)));
  if (record.requires_grad) BodyEditor::set_requires_grad(tensor.body(), true);
  return tensor;
}

Tensor parameter_over(const Tensor& data, bool requires_grad) {
  Tensor parameter(alias_body(data.body(), Layout(data.layout())));
  BodyEditor::set_parameter(parameter.body(), true);
  if (requires_grad) BodyEditor::set_requires_grad(parameter.body(), true);
  return parameter;
}

bool is_aligned(const StorageRecord& record) {
  const std::int64_t size = record.untyped ? 8 : std::min<std::int64_t>(itemsize(record.dtype), 8);
  return record.offset % static_cast<std::uint64_t>(size) == 0;
}
bool is_mappable(const StorageRecord& record) {
  return !record.deflated && !record.big_endian && !record.without_data && is_aligned(record);
}

// Tensors on meta, and what the file says about each.
class Surveyor final : public Builder {
 public:
  void storage(std::uint32_t number, const StorageRecord& record) override {
    if (records.size() <= number) records.resize(number + 1);
    records[number] = record;
  }
  void element_type(std::uint32_t number, DType dtype) override { records[number].dtype = dtype; }
  Tensor tensor(const TensorRecord& record) override {
    const std::uint64_t bytes =
        record.storage == TensorRecord::kNoStorage ? 0 : records[record.storage].nbytes;
    Tensor made =
        tensor_over(record, Storage::without_data(static_cast<std::size_t>(bytes), Device::meta()),
                    Device::meta());
    tensors.emplace(made.id(), record);
    return made;
  }
  Tensor parameter(const Tensor& data, bool requires_grad) override {
    Tensor made = parameter_over(data, requires_grad);
    TensorRecord record = tensors.at(data.id());
    record.parameter = true;
    record.requires_grad = requires_grad;
    tensors.emplace(made.id(), std::move(record));
    return made;
  }

  std::vector<StorageRecord> records;
  std::unordered_map<std::uint64_t, TensorRecord> tensors;
};

void swap_bytes(std::span<std::byte> bytes, std::size_t unit) {
  if (unit < 2) return;
  for (std::size_t i = 0; i + unit <= bytes.size(); i += unit)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + unit));
}
std::size_t swap_unit(DType dtype) {
  return static_cast<std::size_t>(is_complex(dtype) ? itemsize(dtype) / 2 : itemsize(dtype));
}

void check_crc(const StorageRecord& record, std::uint32_t crc) {
  if (crc == record.crc) return;
  throw ChecksumError(record.source->name(), record.offset,
                      concat("the checksum of storage ", record.key, " does not match: its ",
                             record.nbytes, " bytes are damaged"));
}

// The bytes of a storage into memory, compared with their checksum on the way.
void read_storage(const StorageRecord& record, std::span<std::byte> into, bool verify) {
  const Source& source = *record.source;
  constexpr std::size_t kPiece = std::size_t{1} << 20;  // stays in the cache for the checksum
  if (record.deflated) {
    std::vector<std::byte> stored(static_cast<std::size_t>(record.stored));
    source.read_at(record.offset, stored);
    if (!inflate(stored, into))
      throw FormatError(source.name(), record.offset,
                        concat("storage ", record.key, " cannot be inflated"));
    if (record.has_crc) check_crc(record, crc32(into));
  } else {
    std::uint32_t crc = 0;
    for (std::size_t at = 0; at < into.size(); at += kPiece) {
      const auto piece = into.subspan(at, std::min(kPiece, into.size() - at));
      source.read_at(record.offset + at, piece);
      if (record.has_crc && verify) crc = crc32(piece, crc);
    }
    if (record.has_crc && verify) check_crc(record, crc);
  }
  if (record.big_endian) swap_bytes(into, swap_unit(record.dtype));
}

// Reads a storage and compares it, a piece at a time: it may be larger than memory.
void compare(const StorageRecord& record) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  std::vector<std::byte> bytes;
  if (record.deflated) {
    bytes.resize(static_cast<std::size_t>(record.nbytes));
    return read_storage(record, bytes, true);
  }
  std::uint32_t crc = 0;
  bytes.resize(static_cast<std::size_t>(std::min(record.nbytes, kPiece)));
  for (std::uint64_t at = 0; at < record.nbytes; at += kPiece) {
    const auto piece =
        std::span(bytes).first(static_cast<std::size_t>(std::min(kPiece, record.nbytes - at)));
    record.source->read_at(record.offset + at, piece);
    crc = crc32(piece, crc);
  }
  if (record.has_crc) check_crc(record, crc);
}

// A tensor may repeat its elements; so many bytes more than it has are written out.
constexpr std::uint64_t kWrittenOut = std::uint64_t{64} << 20;

// Tensors with their data.
class Loader final : public Builder {
 public:
  explicit Loader(const LoadOptions& options)
      : options_(options),
        maps_(options.mmap && !(options.map_location && options.map_location->is_meta())) {}
  void storage(std::uint32_t number, const StorageRecord& record) override {
    if (storages_.size() <= number) {
      storages_.resize(number + 1);
      place_in_pending_.resize(number + 1, -1);
    }
    const bool meta =
        record.without_data || (options_.map_location && options_.map_location->is_meta());
    if (!meta && !options_.map_location && record.location != "cpu") {
      throw DeviceError(
          concat(record.source->name(), ": storage ", record.key, " was on ", record.location,
                 ", which this machine may not have: load it with .map_location = \"cpu\""));
    }
    const auto bytes = static_cast<std::size_t>(record.nbytes);
    if (meta) {
      storages_[number] = Storage::without_data(bytes, Device::meta());
    } else if (const Mapped* file =
                   maps_ && is_mappable(record) && bytes != 0 ? &mapped(record.source) : nullptr;
               file != nullptr && file->mapping) {
      storages_[number] = mapped_storage(
          file->mapping, static_cast<std::size_t>(file->start + record.offset), bytes);
    } else {
      storages_[number] = Storage::allocate(bytes);
      place_in_pending_[number] = static_cast<std::int64_t>(pending_.size());
      pending_.push_back({storages_[number], record});
    }
  }
  void element_type(std::uint32_t number, DType dtype) override {
    if (place_in_pending_[number] >= 0)
      pending_[static_cast<std::size_t>(place_in_pending_[number])].record.dtype = dtype;
  }
  Tensor tensor(const TensorRecord& record) override {
    if (record.storage == TensorRecord::kNoStorage) {
      return tensor_over(record, Storage::without_data(0, Device::meta()), Device::meta());
    }
    const Storage& storage = storages_[record.storage];
    return tensor_over(record, storage, storage.device());
  }
  Tensor parameter(const Tensor& data, bool requires_grad) override {
    return parameter_over(data, requires_grad);
  }

  // Reads what is not mapped, on as many threads as there are.
  void fill() {
    parallel_for(0, static_cast<std::int64_t>(pending_.size()), 1,
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t i = first; i < last; ++i) {
                     const Pending& one = pending_[static_cast<std::size_t>(i)];
                     read_storage(
                         one.record,
                         {static_cast<std::byte*>(one.storage.data()), one.storage.nbytes()},
                         options_.verify);
                   }
                 });
    const Source* before = nullptr;
    for (const Pending& one : pending_) {
      if (one.record.source != before) one.record.source->check_unchanged();
      before = one.record.source;
    }
  }

 private:
  struct Mapped {
    Ref<Mapping> mapping;
    std::uint64_t start = 0;
  };
  const Mapped& mapped(const Source* source) {
    const auto [place, fresh] = mappings_.try_emplace(source);
    if (fresh)
      place->second.mapping = source->map(Mapping::Mode::private_copy, place->second.start);
    return place->second;
  }
  struct Pending {
    Storage storage;
    StorageRecord record;
  };
  const LoadOptions& options_;
  bool maps_;
  std::map<const Source*, Mapped> mappings_;
  std::vector<Storage> storages_;
  std::vector<Pending> pending_;
  std::vector<std::int64_t> place_in_pending_;  // of each storage; -1: it is mapped, or on meta
};

// What the indices of a sparse tensor may be.
struct IndexBounds {
  std::vector<std::int64_t> most;  // of each row of COO indices, or one for all
  std::int64_t least = 0;
  bool ascending = false;  // compressed ones never go back
};

}  // namespace

struct Checkpoint::Impl {
  std::unique_ptr<Document> document;
  const Source* source;
  Value tree;
  std::vector<TensorFacts> tensors;
  std::vector<TensorRecord> records;  // of the same
  std::vector<StorageFacts> storages;
  std::vector<StorageRecord> storage_records;

  explicit Impl(std::unique_ptr<Document> opened)
      : document(std::move(opened)), source(&document->source()) {
    Surveyor surveyor;
    tree = document->build(surveyor);
    storage_records = std::move(surveyor.records);
    for (const StorageRecord& record : storage_records)
      storages.push_back({record.location, record.nbytes, record.offset, is_mappable(record)});
    Walk walk(source->name(), document->objects(),
              [&](const std::string& name, const Tensor& tensor) {
                const TensorRecord& record = surveyor.tensors.at(tensor.id());
                const std::string device = record.storage == TensorRecord::kNoStorage
                                               ? "meta"
                                               : storage_records[record.storage].location;
                tensors.push_back({name, record.dtype, record.shape, record.stride, record.offset,
                                   device, record.requires_grad, record.parameter, record.storage});
                records.push_back(record);
              });
    walk.on_sparse = [&](const std::string& name, const Value& sparse) {
      note_bounds(name, sparse);
    };
    walk.run(tree);
    check_names();
  }

  // The bytes between the first and the last element of a tensor, whose offset becomes 0. The
  // storage is compared with its checksum the first time it is asked for.
  Storage stretch_of(TensorRecord& record, const StorageRecord& storage) const {
    const std::int64_t size = itemsize(record.dtype);
    std::int64_t last = 0;
    for (std::size_t d = 0; d < record.shape.size(); ++d)
      last += (record.shape[d] - 1) * record.stride[d];
    const bool empty = record.shape.numel() == 0;
    const auto first = static_cast<std::uint64_t>(empty ? 0 : record.offset * size);
    const auto count = static_cast<std::size_t>(empty ? 0 : (last + 1) * size);
    bool fresh = false;
    {
      const std::lock_guard lock(compared_mutex);
      fresh = compared.insert(record.storage).second;
    }
    if (storage.deflated) {
      const Storage all = Storage::allocate(static_cast<std::size_t>(storage.nbytes));
      read_storage(storage, {static_cast<std::byte*>(all.data()), all.nbytes()}, true);
      return all;
    }
    if (fresh && storage.has_crc) compare(storage);
    Storage part = Storage::allocate(count);
    const std::span<std::byte> into(static_cast<std::byte*>(part.data()), count);
    storage.source->read_at(storage.offset + first, into);
    if (storage.big_endian) swap_bytes(into, swap_unit(storage.dtype));
    storage.source->check_unchanged();
    record.offset = 0;
    return part;
  }
  mutable std::mutex compared_mutex;
  mutable std::set<std::uint32_t> compared;  // storages that have been

  std::map<std::string, IndexBounds> bounds;  // of tensors that are indices, by name

  // What the parts of a sparse tensor have to be for each other.
  void note_bounds(const std::string& name, const Value& sparse) {
    const Value& state = sparse.object_state();
    const Value* size = state.find("size");
    const auto refuse = [&] {
      throw FormatError(source->name(), 0,
                        concat("sparse tensor ", Value(name).repr(), ": parts that do not fit"));
    };
    std::vector<std::int64_t> sizes;
    if (size == nullptr) refuse();
    if (size->kind() == Value::Kind::size) {
      sizes.assign(size->as_size().begin(), size->as_size().end());
    } else if (size->kind() == Value::Kind::tuple) {
      for (const Value& one : size->items()) sizes.push_back(one.as_int());
    } else {
      refuse();
    }
    const auto part = [&](const char* key) {
      return name.empty() ? std::string(key) : concat(name, ".", key);
    };
    if (const Value* indices = state.find("indices")) {
      const Tensor tensor = indices->as_tensor(), values = state.find("values")->as_tensor();
      if (tensor.dtype() != int64 || tensor.dim() != 2 ||
          tensor.size(0) > static_cast<std::int64_t>(sizes.size()) || values.dim() < 1 ||
          values.size(0) != tensor.size(1))
        refuse();
      bounds[part("indices")] = {sizes, 0, false};
      return;
    }
    const bool rows = state.find("crow_indices") != nullptr;
    const Tensor compressed = state.find(rows ? "crow_indices" : "ccol_indices")->as_tensor();
    const Tensor plain = state.find(rows ? "col_indices" : "row_indices")->as_tensor();
    if (sizes.size() < 2 || (compressed.dtype() != int64 && compressed.dtype() != int32) ||
        plain.dtype() != compressed.dtype() || compressed.dim() < 1 || plain.dim() < 1)
      refuse();
    const std::int64_t across = sizes[sizes.size() - (rows ? 1 : 2)];
    bounds[part(rows ? "crow_indices" : "ccol_indices")] = {
        {plain.size(-1) + 1}, 0, compressed.dim() == 1};
    bounds[part(rows ? "col_indices" : "row_indices")] = {{across}, 0, false};
  }

  void check_bounds(const TensorFacts& facts, const Tensor& packed) const {
    const auto found = bounds.find(facts.name);
    if (found == bounds.end() || packed.numel() == 0) return;
    const IndexBounds& allowed = found->second;
    const std::int64_t rows = allowed.most.size() > 1 || packed.dim() == 2 ? packed.size(0) : 1;
    const std::int64_t each = packed.numel() / std::max<std::int64_t>(rows, 1);
    std::int64_t before = 0;
    for (std::int64_t i = 0; i < packed.numel(); ++i) {
      std::int64_t index = 0;
      if (packed.dtype() == int64)
        index = static_cast<const std::int64_t*>(packed.data_ptr())[i];
      else
        index = static_cast<const std::int32_t*>(packed.data_ptr())[i];
      const auto row = static_cast<std::size_t>(i / each);
      const std::int64_t most = allowed.most[allowed.most.size() == 1 ? 0 : row];
      if (index < 0 || index >= most || (allowed.ascending && index < before)) {
        throw FormatError(
            source->name(), storage_records[facts.storage].offset,
            concat("sparse tensor: index ", index, " at position ", i, " of ",
                   Value(facts.name).repr(), " is outside of 0 to ", most - 1, ", or goes back"));
      }
      before = index;
    }
  }

  void check_names() const {
    std::vector<std::string_view> names;
    names.reserve(tensors.size());
    for (const TensorFacts& facts : tensors) names.push_back(facts.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return;
    throw FormatError(
        source->name(), 0,
        concat("two tensors are named ", Value(*twice).repr(), " when keys are joined by dots"));
  }
};

Checkpoint::Checkpoint(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Checkpoint Checkpoint::open(const std::string& path, const OpenOptions& options) {
  return Checkpoint(std::make_unique<Impl>(open_path(path, {options.inert})));
}
Checkpoint Checkpoint::open(std::span<const std::byte> bytes, const OpenOptions& options) {
  return Checkpoint(
      std::make_unique<Impl>(open_document(open_memory(bytes, "memory"), {options.inert})));
}

const std::string& Checkpoint::file() const noexcept { return impl_->source->name(); }
std::string_view Checkpoint::format() const noexcept { return impl_->document->format(); }
bool Checkpoint::has_checksums() const noexcept { return impl_->document->has_checksums(); }
const Value& Checkpoint::tree() const noexcept { return impl_->tree; }
const std::vector<TensorFacts>& Checkpoint::tensors() const noexcept { return impl_->tensors; }
const std::vector<StorageFacts>& Checkpoint::storages() const noexcept { return impl_->storages; }

namespace {

Value load_document(const Document& document, const LoadOptions& options) {
  if (options.map_location && !options.map_location->is_meta() && !options.map_location->is_cpu()) {
    throw NotImplementedError(concat("load: tensors cannot be put on ", options.map_location->str(),
                                     " yet: load them to the CPU and move them with to()"));
  }
  Loader loader(options);
  Value value = document.build(loader);
  loader.fill();
  return value;
}

}  // namespace

Value Checkpoint::load(const LoadOptions& options) const {
  return load_document(*impl_->document, options);
}

void Checkpoint::verify() const {
  const auto& records = impl_->storage_records;
  parallel_for(0, static_cast<std::int64_t>(records.size()), 1,
               [&](std::int64_t first, std::int64_t last) {
                 for (std::int64_t i = first; i < last; ++i) {
                   const StorageRecord& record = records[static_cast<std::size_t>(i)];
                   if (!record.without_data) compare(record);
                 }
               });
  for (const StorageRecord& record : records) {
    if (&record == &records.front() || record.source != (&record - 1)->source)
      record.source->check_unchanged();
  }
  impl_->source->check_unchanged();
}

void Checkpoint::read(std::size_t tensor,
                      const std::function<void(std::span<const std::byte>)>& piece) const {
  if (tensor >= impl_->records.size()) {
    throw IndexError(
        concat("tensor ", tensor, " of a checkpoint that has ", impl_->records.size()));
  }
  TensorRecord record = impl_->records[tensor];
  if (record.storage == TensorRecord::kNoStorage) return;
  const StorageRecord& storage = impl_->storage_records[record.storage];
  if (storage.without_data) return;
  if (record.dtype == bool_) record.dtype = uint8;  // as they are, also if they are neither 0 nor 1
  const std::int64_t bytes = record.shape.numel() * itemsize(record.dtype);
  if (static_cast<std::uint64_t>(bytes) > storage.nbytes * 16 + kWrittenOut) {
    throw FormatError(storage.source->name(), storage.offset,
                      concat("a tensor that repeats ", storage.nbytes,
                             " bytes of storage until they are ", bytes));
  }
  const Tensor whole = tensor_over(record, impl_->stretch_of(record, storage), Device::cpu());
  const Tensor packed = allocate_tensor(Layout::packed(record.shape, record.dtype, Device::cpu()));
  if (packed.numel() != 0) copy_tensor(packed, whole);
  impl_->check_bounds(impl_->tensors[tensor], packed);
  piece({static_cast<const std::byte*>(packed.data_ptr()), static_cast<std::size_t>(bytes)});
}

Value load(const std::string& path, const LoadOptions& options) {
  const auto document = open_path(path, {options.inert});
  return load_document(*document, options);
}

}  // namespace tenon
