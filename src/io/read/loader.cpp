#include "io/read/loader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include "base/huge_pages.h"
#include "base/text.h"
#include "core/mapped_storage.h"
#include "io/pickle/sparse.h"
#include "io/read/choice.h"
#include "io/read/flattened.h"
#include "io/read/inflated_slot.h"
#include "io/read/storage_reader.h"
#include "io/read/survey.h"
#include "io/read/tensors.h"
#include "tenon/error.h"

namespace tenon {

namespace {

class Loader final : public Builder {
 public:
  // `kept`, if there is one, says of every tensor whether it is wanted.
  // With `left`, storages stay in their files, and are noted there.
  Loader(const std::string& file, const LoadOptions& options, const ChosenTensors* kept,
         LeftInFile* left, ReadMeter& meter)
      : file_(file), options_(options), kept_(kept), left_(left), meter_(meter) {}

  // What it has made stays; what it has noted goes.
  ~Loader() override {
    meter_.release(places_.capacity() * sizeof(Place) + reads_.capacity() * sizeof(StorageRead) +
                   sparse_.capacity() * sizeof(Value));
  }
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  void expect(std::size_t storages) override {
    charge_growth(meter_, places_, storages);
    reserve_in_huge_pages(places_, storages);
  }
  void storage(std::uint32_t number, const StorageRecord& record) override {
    if (places_.size() <= number) {
      charge_growth(meter_, places_, number + 1 - places_.size());
      places_.resize(number + 1);
    }
    places_[number].record = record;
  }
  void element_type(std::uint32_t number, DType dtype) override {
    Place& place = places_[number];
    place.record.dtype = dtype;
    if (left_ != nullptr && place.storage.defined()) {
      const auto found = left_->find(place.storage.identity());
      if (found != left_->end()) found->second.record.dtype = dtype;
    }
    if (place.read >= 0) reads_[static_cast<std::size_t>(place.read)].record.dtype = dtype;
  }
  Tensor tensor(const TensorRecord& record) override {
    const std::uint32_t number = made_++;
    if (kept_ != nullptr && !kept_->tensors[number]) {
      const Tensor stand_in =
          tensor_over(record, Storage::without_data(0, Device::meta()), Device::meta());
      dropped_.insert(stand_in.id());
      return stand_in;
    }
    if (record.storage == TensorRecord::kNoStorage)
      return tensor_over(record, Storage::without_data(0, Device::meta()), Device::meta());
    Place& place = places_[record.storage];
    if (!place.storage.defined()) find_memory(place);
    if (options_.mmap) check_alignment(record, place);
    return tensor_over(record, place.storage, place.storage.device());
  }
  Tensor parameter(const Tensor& data, bool requires_grad) override {
    Tensor made = parameter_over(data, requires_grad);
    if (dropped_.contains(data.id())) dropped_.insert(made.id());
    return made;
  }
  Tensor uninitialized(const UninitializedRecord& record) override {
    const std::uint32_t number = uninitialized_++;
    if (kept_ != nullptr && !kept_->uninitialized[number]) {
      const Tensor stand_in = uninitialized_on(Device::meta(), record);
      dropped_.insert(stand_in.id());
      return stand_in;
    }
    if (left_ != nullptr || record.device.is_meta()) return uninitialized_on(record.device, record);
    const std::string location = record.device.str();
    if (const auto device = restored(location)) return uninitialized_on(*device, record);
    cannot_restore(concat(file_, ": an uninitialised ", record.parameter ? "parameter" : "buffer"),
                   location);
  }
  void sparse(const Value& sparse) override {
    charge_growth(meter_, sparse_);
    sparse_.push_back(sparse);
  }

  // Reads what is not mapped. With checksums, what is mapped is read too, and only compared.
  void fill() {
    const bool verify = options_.verify.value_or(true);
    if (options_.mmap && options_.verify.value_or(false)) {
      for (const Place& place : places_) {
        if (place.storage.defined() && place.read < 0 && !place.storage.device().is_meta())
          reads_.push_back({place.record, nullptr});
      }
    }
    read_storages(reads_, verify, options_.watch);
    for (const auto& [source, file] : mappings_) source->check_unchanged();
    for (const Value& one : sparse_) check(one);
  }

  const std::unordered_set<std::uint64_t>& dropped() const noexcept { return dropped_; }

 private:
  struct Place {
    StorageRecord record;
    Storage storage;
    std::int64_t read = -1;  // its place among what is read; -1: it is mapped, or on meta
  };
  // Where what was at a location is to be; nothing if that is nowhere.
  std::optional<Device> restored(std::string_view location) const {
    if (const auto chosen = options_.map_location(location)) {
      if (!chosen->is_cpu() && !chosen->is_meta()) {
        throw NotImplementedError(
            concat("load: tensors cannot be put on ", chosen->str(),
                   " yet: load them with .map_location = \"cpu\" and move them with to()"));
      }
      return *chosen;
    }
    if (location == "cpu") return Device::cpu();
    return std::nullopt;
  }
  [[noreturn]] static void cannot_restore(const std::string& what, std::string_view location) {
    throw DeviceError(concat(what, " was on ", location,
                             ", which cannot be restored here: load it with .map_location = "
                             "\"cpu\""));
  }
  Device target(const StorageRecord& record) const {
    if (record.without_data) return Device::meta();
    if (const auto device = restored(record.location)) return *device;
    cannot_restore(concat(record.source->name(), ": storage ", record.key), record.location);
  }

  void find_memory(Place& place) {
    const StorageRecord& record = place.record;
    const auto bytes = static_cast<std::size_t>(record.nbytes);
    if (left_ != nullptr) {
      place.storage = Storage::without_data(bytes, Device::meta());
      if (record.without_data) return;
      meter_.memory(sizeof(StorageInFile) + 2 * ReadMeter::kObject);
      left_->emplace(place.storage.identity(), StorageInFile{place.storage, record});
      return;
    }
    if (target(record).is_meta()) {
      place.storage = Storage::without_data(bytes, Device::meta());
      return;
    }
    if (options_.mmap && bytes != 0 && is_mappable(record)) {
      if (const Ref<Mapping>& file = mapped(record.source)) {
        place.storage = mapped_storage(
            file, static_cast<std::size_t>(record.source->start() + record.offset), bytes);
        return;
      }
    }
    place.storage = Storage::allocate(bytes);
    charge_growth(meter_, reads_);
    place.read = static_cast<std::int64_t>(reads_.size());
    reads_.push_back({record, static_cast<std::byte*>(place.storage.data())});
  }

  // A storage is mapped where elements of its own dtype may lie. Those of a tensor may be larger.
  static void check_alignment(const TensorRecord& record, const Place& place) {
    const auto at = reinterpret_cast<std::uintptr_t>(place.storage.data());
    const auto size =
        static_cast<std::uintptr_t>(std::min<std::int64_t>(itemsize(record.dtype), 8));
    if (place.storage.device().is_meta() || at % size == 0) return;
    throw FormatError(place.record.source->name(), place.record.offset,
                      concat("storage ", place.record.key, " lies where elements of ",
                             info(record.dtype).name, " cannot be used: load it without .mmap"));
  }

  const Ref<Mapping>& mapped(const Source* source) {
    if (source == last_source_) return *last_mapped_;
    const auto [place, fresh] = mappings_.try_emplace(source);
    if (fresh) {
      place->second =
          source->map(options_.shared ? Mapping::Mode::shared : Mapping::Mode::private_copy);
    }
    last_source_ = source;
    last_mapped_ = &place->second;
    return place->second;
  }

  // A tensor's elements, packed. Those of a mapped file are read: touching the mapping is a signal
  // if somebody has cut the file short.
  Tensor elements(const Tensor& tensor) const {
    const Layout& layout = tensor.layout();
    const auto* data = static_cast<const std::byte*>(tensor.storage().data());
    for (const auto& [source, file] : mappings_) {
      if (!file || data < file->data() || data >= file->data() + file->size()) continue;
      const ByteSpan span = bytes_of(layout);
      const Storage copy = Storage::allocate(static_cast<std::size_t>(span.end - span.begin));
      source->read_at(
          static_cast<std::uint64_t>(data - file->data()) - source->start() + span.begin,
          {static_cast<std::byte*>(copy.data()), copy.nbytes()});
      TensorRecord record;
      record.dtype = tensor.dtype();
      record.shape = layout.shape;
      record.stride = layout.strides;
      record.offset = 0;
      return packed_copy(tensor_over(record, copy, Device::cpu()));
    }
    return packed_copy(tensor);
  }
  void check(const Value& sparse) const {
    for (const auto& [indices, bounds] : index_bounds(sparse, file_)) {
      if (dropped_.contains(indices.id())) continue;
      const bool is_left = left_ != nullptr && left_->contains(indices.storage().identity());
      if (indices.device().is_meta() && !is_left) continue;
      check_not_repeated(indices.shape(), indices.dtype(), indices.storage().nbytes(), file_);
      const ByteSpan span = bytes_of(indices.layout());
      meter_.work(static_cast<std::uint64_t>(indices.numel()) + (span.end - span.begin) / 8);
      check_indices(is_left ? left_elements(indices, span) : elements(indices), bounds, file_, 0);
    }
  }
  // The same of a tensor whose storage stays in its file.
  Tensor left_elements(const Tensor& tensor, const ByteSpan& span) const {
    const StorageRecord& storage = left_->at(tensor.storage().identity()).record;
    TensorRecord record;
    record.dtype = tensor.dtype();
    record.shape = tensor.layout().shape;
    record.stride = tensor.layout().strides;
    record.offset = tensor.layout().offset;
    Storage bytes;
    if (tensor.numel() != 0 && storage.deflated) {
      bytes = inflated_.get(storage);
    } else {
      record.offset = 0;
      bytes = Storage::allocate(static_cast<std::size_t>(span.end - span.begin));
      read_part(storage, span.begin, {static_cast<std::byte*>(bytes.data()), bytes.nbytes()});
    }
    return packed_copy(tensor_over(record, bytes, Device::cpu()));
  }

  const std::string& file_;
  const LoadOptions& options_;
  const ChosenTensors* kept_;
  LeftInFile* left_;
  ReadMeter& meter_;
  std::uint32_t made_ = 0, uninitialized_ = 0;
  std::map<const Source*, Ref<Mapping>> mappings_;
  const Source* last_source_ = nullptr;
  const Ref<Mapping>* last_mapped_ = nullptr;
  std::vector<Place> places_;
  std::vector<StorageRead> reads_;
  std::vector<Value> sparse_;
  mutable InflatedSlot inflated_;
  std::unordered_set<std::uint64_t> dropped_;
};

}  // namespace

Value load_document(const Document& document, const Survey* survey, const LoadOptions& options,
                    ReadMeter& meter, LeftInFile* left) {
  if (options.shared && !options.mmap)
    throw ValueError("load: .shared is about mapped files: ask for .mmap too");
  const bool chooses = options.filter || !options.path.empty();
  ChosenTensors kept;
  if (chooses) {
    const PassingCharge passing(meter);
    std::optional<Survey> own;
    if (survey == nullptr) survey = &own.emplace(document, meter);
    kept = chosen_tensors(document, *survey, options, meter);
  }
  Loader loader(document.source().name(), options, chooses ? &kept : nullptr, left, meter);
  Value value = document.build(loader, meter);
  loader.fill();
  if (chooses) value = without(at_path(value, options.path, document), loader.dropped(), meter);
  if (left == nullptr) value = with_user_defined(value);
  return options.rename.empty() ? value : renamed(value, options.rename, &meter);
}

}  // namespace tenon
