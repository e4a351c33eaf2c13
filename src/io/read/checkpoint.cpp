#include "tenon/checkpoint.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <set>

#include "base/text.h"
#include "io/formats/open.h"
#include "io/read/contents.h"
#include "io/read/inflated_slot.h"
#include "io/read/loader.h"
#include "io/read/storage_reader.h"
#include "io/read/survey.h"
#include "io/read/tensors.h"
#include "io/read/walk.h"
#include "io/zip/compression.h"
#include "tenon/error.h"

namespace tenon {

namespace {

static_assert(TensorFacts::kNoStorage == TensorRecord::kNoStorage);

// A tensor may repeat its elements; so many bytes more than it has are written out.
constexpr std::uint64_t kWrittenOut = std::uint64_t{32} << 20;

}  // namespace

struct Checkpoint::Impl {
  std::unique_ptr<Document> document;
  const Source* source;
  ReadMeter meter;  // of opening it and of all that is here
  Survey survey;
  Contents contents;
  std::vector<std::uint32_t> by_name;          // the tensors of the contents, sorted
  std::unique_ptr<std::once_flag[]> compared;  // of each storage: whether it has been
  std::unique_ptr<std::atomic_flag[]> passed;  // of each tensor: whether it has been read

  explicit Impl(std::unique_ptr<Document> opened)
      : document(std::move(opened)),
        source(&document->source()),
        meter(document->meter()),
        survey(*document, meter),
        contents(survey, meter) {
    const std::size_t storages = survey.storages().size(), tensors = contents.records.size();
    meter.memory(storages * sizeof(std::once_flag) + tensors * sizeof(std::atomic_flag));
    compared = std::make_unique<std::once_flag[]>(storages);
    passed = std::make_unique<std::atomic_flag[]>(tensors);
    sort_names();
  }

  void sort_names() {
    const std::vector<TensorFacts>& tensors = contents.tensors;
    by_name.resize(tensors.size());
    std::iota(by_name.begin(), by_name.end(), 0u);
    std::sort(by_name.begin(), by_name.end(),
              [&](std::uint32_t a, std::uint32_t b) { return tensors[a].name < tensors[b].name; });
    const auto twice = std::adjacent_find(
        by_name.begin(), by_name.end(),
        [&](std::uint32_t a, std::uint32_t b) { return tensors[a].name == tensors[b].name; });
    if (twice != by_name.end()) two_named(tensors[*twice].name);
    std::set<std::string_view> others;  // not hashed: the file chooses the names
    for (const UninitializedFacts& facts : contents.uninitialized) {
      if (find(facts.name) || !others.insert(facts.name).second) two_named(facts.name);
    }
  }
  [[noreturn]] void two_named(const std::string& name) const {
    throw FormatError(
        source->name(), 0,
        concat("two tensors are named ", Value(name).repr(), " when keys are joined by dots"));
  }

  std::optional<std::size_t> find(std::string_view name) const {
    const auto at = std::lower_bound(by_name.begin(), by_name.end(), name,
                                     [&](std::uint32_t i, std::string_view wanted) {
                                       return contents.tensors[i].name < wanted;
                                     });
    if (at == by_name.end() || contents.tensors[*at].name != name) return std::nullopt;
    return *at;
  }

  // Elements that lie in the file as they are wanted, a piece at a time.
  void stream(const TensorRecord& record, const StorageRecord& storage, std::uint64_t bytes,
              const std::function<void(std::span<const std::byte>)>& piece, bool verify) const {
    const auto begin = static_cast<std::uint64_t>(record.offset * itemsize(record.dtype));
    const bool whole = bytes == storage.nbytes;
    if (!whole && verify) compare(record.storage);
    const bool sums = whole && verify && storage.has_crc;
    std::vector<std::byte> held(static_cast<std::size_t>(std::min(bytes, kPieceBytes)));
    std::uint32_t crc = 0;
    for (std::uint64_t at = 0; at < bytes; at += kPieceBytes) {
      const auto part =
          std::span(held).first(static_cast<std::size_t>(std::min(kPieceBytes, bytes - at)));
      if (sums) {
        storage.source->read_at(storage.offset + at, part);
        crc = crc32(part, crc);
        if (storage.big_endian) swap_bytes(part, storage.dtype);
      } else {
        read_part(storage, begin + at, part);
      }
      piece(part);
    }
    storage.source->check_unchanged();
    if (sums) check_crc(storage, crc);
  }

  // The bytes between the first and the last element of a tensor, whose offset becomes 0.
  Storage stretch_of(std::size_t tensor, TensorRecord& record, const StorageRecord& storage,
                     bool verify) const {
    if (storage.deflated) {
      const bool again = passed[tensor].test_and_set(std::memory_order_relaxed);
      return inflated.get(storage, again ? InflatedSlot::Pass::again : InflatedSlot::Pass::first);
    }
    const std::int64_t size = itemsize(record.dtype);
    std::int64_t last = 0;
    for (std::size_t d = 0; d < record.shape.size(); ++d)
      last += (record.shape[d] - 1) * record.stride[d];
    const auto first = static_cast<std::uint64_t>(record.offset * size);
    const auto count = static_cast<std::size_t>((last + 1) * size);
    if (verify) compare(record.storage);
    Storage part = Storage::allocate(count);
    const std::span<std::byte> into(static_cast<std::byte*>(part.data()), count);
    read_part(storage, first, into);
    storage.source->check_unchanged();
    record.offset = 0;
    return part;
  }

  // With its checksum, the first time it is asked for.
  void compare(std::uint32_t number) const {
    compare_once(survey.storages()[number], compared[number]);
  }

  mutable InflatedSlot inflated;
};

Checkpoint::Checkpoint(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Checkpoint Checkpoint::open(const std::string& path, const OpenOptions& options) {
  return Checkpoint(std::make_shared<Impl>(
      open_path(path, {options.inert, options.follow_links, options.limits})));
}
Checkpoint Checkpoint::open(int descriptor, std::uint64_t offset, const OpenOptions& options) {
  auto source = open_file(descriptor, offset, concat("descriptor ", descriptor));
  return Checkpoint(std::make_shared<Impl>(
      open_document(std::move(source), {options.inert, false, options.limits})));
}
Checkpoint Checkpoint::open(std::span<const std::byte> bytes, const OpenOptions& options) {
  return Checkpoint(std::make_shared<Impl>(
      open_document(open_memory(bytes, "memory"), {options.inert, false, options.limits})));
}

const std::string& Checkpoint::file() const& noexcept { return impl_->source->name(); }
std::string_view Checkpoint::format() const noexcept { return impl_->document->format(); }
bool Checkpoint::has_checksums() const noexcept { return impl_->document->has_checksums(); }
std::vector<std::pair<std::string, std::string>> Checkpoint::facts() const {
  return impl_->document->facts();
}
const Value& Checkpoint::tree() const& noexcept { return impl_->survey.tree(); }
const std::vector<TensorFacts>& Checkpoint::tensors() const& noexcept {
  return impl_->contents.tensors;
}
const std::vector<StorageFacts>& Checkpoint::storages() const& noexcept {
  return impl_->contents.storages;
}
const std::vector<UninitializedFacts>& Checkpoint::uninitialized() const& noexcept {
  return impl_->contents.uninitialized;
}

std::optional<std::size_t> Checkpoint::find(std::string_view name) const {
  return impl_->find(name);
}

Value Checkpoint::load(const LoadOptions& given) const {
  const std::shared_ptr<Impl> held = impl_;  // a filter may destroy the checkpoint
  const LoadOptions options = given;         // and what it was given in
  // Beside what is open, which has been paid for.
  ReadMeter meter = held->document->meter();
  return load_document(*held->document, &held->survey, options, meter);
}

void Checkpoint::verify(const Watch& given) const {
  const std::shared_ptr<Impl> held = impl_;
  const Watch watch = given;
  std::vector<StorageRead> reads;
  for (const StorageRecord& record : held->document->stretches())
    reads.push_back({record, nullptr});
  read_storages(reads, true, watch);
  held->source->check_unchanged();
}

void Checkpoint::read(std::size_t tensor,
                      const std::function<void(std::span<const std::byte>)>& given,
                      bool verify) const {
  const std::shared_ptr<Impl> held = impl_;
  const std::function<void(std::span<const std::byte>)> piece = given;
  if (tensor >= held->contents.records.size()) {
    throw IndexError(
        concat("tensor ", tensor, " of a checkpoint that has ", held->contents.records.size()));
  }
  TensorRecord record = *held->contents.records[tensor];
  if (record.storage == TensorRecord::kNoStorage) return;
  const StorageRecord& storage = held->survey.storages()[record.storage];
  if (storage.without_data) return;
  if (record.dtype == bool_) record.dtype = uint8;  // as they are, also if they are neither 0 nor 1
  const auto bytes = static_cast<std::uint64_t>(record.shape.numel() * itemsize(record.dtype));
  if (bytes > storage.nbytes * 16 + kWrittenOut) {
    throw FormatError(storage.source->name(), storage.offset,
                      concat("a tensor that repeats ", storage.nbytes,
                             " bytes of storage until they are ", bytes));
  }
  if (bytes == 0) return;  // its offset and strides may be anything
  const std::span<const IndexBounds> bounds = held->survey.bounds(record.number);
  const bool plain = is_packed(record.shape, record.stride) && !record.conj && !record.neg;
  if (plain && !storage.deflated && bounds.empty())
    return held->stream(record, storage, bytes, piece, verify);
  const Storage stretch = held->stretch_of(tensor, record, storage, verify);
  const Tensor there = tensor_over(record, stretch, Device::cpu());
  // Indices do not repeat elements, which others may.
  if (!plain && bounds.empty()) return packed_pieces(there, piece);
  const Tensor packed = plain ? there : packed_copy(there);
  for (const IndexBounds& one : bounds)
    check_indices(packed, one, storage.source->name(), storage.offset);
  piece({static_cast<const std::byte*>(packed.data_ptr()), static_cast<std::size_t>(bytes)});
}

Value load(const std::string& path, const LoadOptions& given) {
  const LoadOptions options = given;  // a filter may destroy what it was given in
  const auto document = open_path(path, {options.inert, options.follow_links, options.limits});
  ReadMeter meter = document->meter();
  return load_document(*document, nullptr, options, meter);
}

}  // namespace tenon
