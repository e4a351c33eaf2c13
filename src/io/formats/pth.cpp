// Zip archives of PyTorch 1.6 and later.
#include <charconv>
#include <map>

#include "base/checked.h"
#include "base/huge_pages.h"
#include "base/text.h"
#include "io/formats/table.h"
#include "io/pickle/global_names.h"
#include "io/pickle/rebuild.h"
#include "io/read/storage_reader.h"
#include "io/zip/zip.h"
#include "tenon/error.h"

namespace tenon {

namespace {

constexpr std::uint64_t kLargestText = 4096;

class PthDocument final : public Document {
 public:
  PthDocument(std::shared_ptr<const Source> source, const DocumentOptions& options)
      : Document(source, options), zip_(std::move(source)), inert_(options.inert) {
    script_ = zip_.find("constants.pkl") != nullptr;
    if (script_ && !inert_) {
      refuse(
          "a TorchScript archive, which is a program: load it in Python and save its state_dict(), "
          "or read it inert");
    }
    const ZipEntry* program = zip_.find("data.pkl");
    if (program == nullptr) refuse("a zip archive without data.pkl: no checkpoint of PyTorch");
    check_version();
    check_byte_order();
    // What is not deflated is a part of the file; inflated it is more than that.
    for (const ZipEntry& entry : zip_.entries()) {
      if (entry.deflated) opening().memory(entry.size);
    }
    bytes_ = zip_.read(*program, kLargestPickle);
    const std::uint64_t before = opening().held();
    pickle_ =
        std::make_unique<Pickle>(bytes_, program->data, source_->name(), meaning_code,
                                 inert_ ? Pickle::Names::any : Pickle::Names::known, opening());
    graph_ = opening().held() - before;
    if (pickle_->size() != bytes_.size())
      throw FormatError(source_->name(), program->data + pickle_->size(),
                        "data.pkl goes on behind its end");
  }

  std::string_view format() const noexcept override { return script_ ? "torchscript" : "pth"; }
  bool has_checksums() const noexcept override { return !zip_.without_checksums(); }
  Value build(Builder& builder, ReadMeter& meter) const override;
  std::vector<std::pair<std::string, std::string>> facts() const override;
  void let_go(ReadMeter& meter) noexcept override {
    pickle_.reset();
    meter.release(std::exchange(graph_, 0));
  }
  std::vector<StorageRecord> stretches() const override;
  const Zip& zip() const noexcept { return zip_; }
  bool big_endian() const noexcept { return big_endian_; }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw FormatError(source_->name(), 0, reason);
  }

  std::string small_text(const ZipEntry& entry) const {
    const std::vector<std::byte> bytes = zip_.read(entry, kLargestText);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void check_version() const {
    const ZipEntry* entry = zip_.find(".data/version");
    if (entry == nullptr) entry = zip_.find("version");
    if (entry == nullptr) refuse("an archive that does not say its version");
    const std::string text = small_text(*entry);
    unsigned version = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
    if (error != std::errc() || (end != text.data() + text.size() && *end != '\n'))
      throw FormatError(source_->name(), entry->data, "the version is no number");
    if (version < 1 || version > 10)
      throw FormatError(source_->name(), entry->data,
                        concat("version ", version, ", and 1 to 10 are known"));
  }
  void check_byte_order() {
    const ZipEntry* entry = zip_.find("byteorder");
    if (entry == nullptr) return;  // before 2.1, and then little
    const std::string text = small_text(*entry);
    if (text != "little" && text != "big")
      throw FormatError(source_->name(), entry->data, "the byte order is neither little nor big");
    big_endian_ = text == "big";
  }

  Zip zip_;
  bool inert_;
  bool script_ = false;
  bool big_endian_ = false;
  std::vector<std::byte> bytes_;
  std::unique_ptr<Pickle> pickle_;
  std::uint64_t graph_ = 0;  // what it was charged with
};

// Storages by their keys, each announced to the builder once.
class PthStorages final : public StorageFinder {
 public:
  PthStorages(const PthDocument& document, Builder& builder, ReadMeter& meter)
      : document_(document), builder_(builder), meter_(meter) {
    const std::size_t entries = document.zip().entries().size();
    meter_.memory(entries * sizeof(std::uint32_t));
    by_entry_.resize(entries, kNone);
    charge_growth(meter_, storages_, entries);
    reserve_in_huge_pages(storages_, entries);
    builder_.expect(entries);
  }
  // What it has made stays; what it has noted goes.
  ~PthStorages() {
    meter_.release(by_entry_.size() * sizeof(std::uint32_t) + charged_ +
                   storages_.capacity() * sizeof(StorageRecord) +
                   orders_.capacity() * sizeof(Order));
  }
  PthStorages(const PthStorages&) = delete;
  PthStorages& operator=(const PthStorages&) = delete;

  std::uint32_t storage(const StorageId& id, std::uint64_t at) override {
    const auto bytes = checked_mul(id.numel, itemsize(id.dtype));
    if (!bytes) fail(at, concat("storage ", id.key, ": ", id.numel, " elements overflow"));
    if (id.arity != 5) fail(at, "the id of a storage has six parts, which only older files have");
    // By the key alone, as PyTorch finds what it has made, wherever it is said to be.
    const bool meta = id.location == "meta";
    const ZipEntry* entry = document_.zip().find_storage(id.key);
    if (!meta && entry == nullptr) fail(at, concat("storage ", id.key, " is not in the archive"));
    std::uint32_t& number =
        entry == nullptr
            ? number_without_entry(id.key)
            : by_entry_[static_cast<std::size_t>(entry - document_.zip().entries().data())];
    if (number != kNone) {
      check_again(storages_[number], id, at);
      check_size(storages_[number].nbytes, *bytes, id, at);
      if (id.untyped) note_untyped(number);
      return number;
    }
    charge_growth(meter_, storages_);
    number = static_cast<std::uint32_t>(storages_.size());
    StorageRecord& record = storages_.emplace_back();
    record.untyped = id.untyped || id.dtype == uint8;  // bytes are shared with untyped ones
    record.source = &document_.source();
    record.key = id.key;
    record.location = id.location;
    record.dtype = id.dtype;
    record.nbytes = static_cast<std::uint64_t>(*bytes);
    record.without_data = meta;
    if (!meta) {
      check_size(entry->size, *bytes, id, at);
      record.offset = entry->data;
      record.stored = entry->stored;
      record.crc = entry->crc;
      record.deflated = entry->deflated;
      record.has_crc = document_.has_checksums();
      record.big_endian = document_.big_endian();
    }
    builder_.storage(number, record);
    if (id.untyped) note_untyped(number);
    return number;
  }
  std::uint64_t storage_bytes(std::uint32_t storage) const override {
    return storages_[storage].nbytes;
  }
  void used_by(const TensorRecord& record) override {
    if (document_.big_endian()) note_elements(record);
  }

 private:
  [[noreturn]] void fail(std::uint64_t at, const std::string& reason) const {
    throw FormatError(document_.source().name(), at, reason);
  }

  // Of a storage on meta that has no entry, and so no bytes that its file would pay for it with.
  std::uint32_t& number_without_entry(std::string_view key) {
    const auto known = without_entry_.find(key);
    if (known != without_entry_.end()) return known->second;
    const std::uint64_t cost = key.size() + 2 * ReadMeter::kObject;
    meter_.memory(cost);
    charged_ += cost;
    return without_entry_.emplace(key, kNone).first->second;
  }

  // A storage may come again. PyTorch writes bytes and dtypes that have no class of storages over
  // one, the former as ByteStorage and the latter as UntypedStorage; others only if there are no
  // bytes.
  void check_again(const StorageRecord& known, const StorageId& id, std::uint64_t at) const {
    if (known.dtype != id.dtype && known.nbytes != 0 && !known.without_data) {
      fail(at, concat("storage ", id.key, " is described in two ways, of ", info(known.dtype).name,
                      " and of ", info(id.dtype).name));
    }
    if (known.location != id.location)
      fail(at, concat("storage ", id.key, " is described in two ways, on two devices"));
  }
  void check_size(std::uint64_t there, std::int64_t said, const StorageId& id,
                  std::uint64_t at) const {
    if (there == static_cast<std::uint64_t>(said)) return;
    fail(at,
         concat("storage ", id.key, " should have ", said, " bytes, and its record has ", there));
  }

  // Note [Whose byte order]
  // In a file of the other byte order a storage is swapped once, as a whole, by the dtype of its
  // class, whatever its tensors are: that is PyTorch's answer. An untyped one has no dtype. There
  // PyTorch swaps nothing, which gives wrong numbers; its tensors know, and have to agree.
  struct Order {
    bool untyped = false, seen = false, mixed = false;
    DType dtype = uint8;  // of the first tensor
  };
  void make_orders() {
    if (orders_.size() >= storages_.size()) return;
    charge_growth(meter_, orders_, storages_.size() - orders_.size());
    orders_.resize(storages_.size());
  }
  void note_untyped(std::uint32_t storage) {
    if (!document_.big_endian()) return;
    make_orders();
    orders_[storage].untyped = true;
    settle(storage);
  }
  void note_elements(const TensorRecord& record) {
    if (record.storage == TensorRecord::kNoStorage || record.shape.numel() == 0) return;
    make_orders();
    Order& order = orders_[record.storage];
    if (!order.seen) order.dtype = record.dtype;
    order.seen = true;
    if (swapped_together(order.dtype) != swapped_together(record.dtype)) order.mixed = true;
    settle(record.storage);
  }
  void settle(std::uint32_t storage) {
    const Order& order = orders_[storage];
    const StorageRecord& record = storages_[storage];
    if (!order.untyped || !order.seen || record.without_data) return;
    if (order.mixed) {
      fail(record.offset,
           concat("storage ", record.key, " is untyped and big-endian, and its tensors have ",
                  "elements of different sizes: what to swap cannot be told; save them as clones"));
    }
    builder_.element_type(storage, order.dtype);
  }

  const PthDocument& document_;
  Builder& builder_;
  ReadMeter& meter_;
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<StorageRecord> storages_;
  std::vector<std::uint32_t> by_entry_;  // numbers of storages
  // The same of those on meta that have no entry.
  std::map<std::string, std::uint32_t, std::less<>> without_entry_;
  std::uint64_t charged_ = 0;  // for these
  std::vector<Order> orders_;  // of storages, in big-endian files
};

std::vector<std::pair<std::string, std::string>> PthDocument::facts() const {
  std::vector<std::pair<std::string, std::string>> out{{"archive", std::string(zip_.folder())}};
  for (const char* name : {"version", ".data/version", "byteorder", ".format_version",
                           ".storage_alignment", ".data/serialization_id"}) {
    const ZipEntry* entry = zip_.find(name);
    if (entry == nullptr || entry->size > kLargestText) continue;
    std::string text = small_text(*entry);
    while (text.ends_with('\n')) text.pop_back();
    std::string_view key(name);
    key.remove_prefix(key.starts_with(".data/") ? 6 : key.starts_with('.') ? 1 : 0);
    out.emplace_back(key, std::move(text));
  }
  return out;
}

std::vector<StorageRecord> PthDocument::stretches() const {
  std::vector<StorageRecord> out;
  out.reserve(zip_.entries().size());
  for (const ZipEntry& entry : zip_.entries()) {
    StorageRecord record;
    record.source = source_.get();
    record.key = entry.name;
    record.nbytes = entry.size;
    record.offset = entry.data;
    record.stored = entry.stored;
    record.crc = entry.crc;
    record.deflated = entry.deflated;
    record.has_crc = has_checksums();
    out.push_back(record);
  }
  return out;
}

Value PthDocument::build(Builder& builder, ReadMeter& meter) const {
  PthStorages storages(*this, builder, meter);
  return rebuild(*pickle_, storages, builder, inert_, meter);
}

std::unique_ptr<Document> open(std::shared_ptr<const Source> source,
                               const DocumentOptions& options) {
  return std::make_unique<PthDocument>(std::move(source), options);
}

// A local header of an archive of zip.
Claim claim(const Beginning& beginning) {
  return beginning.bytes.starts_with("PK\x03\x04") ? Claim::certain : Claim::none;
}

constexpr std::string_view kEndings[] = {".pth", ".pt", ".bin"};
constexpr std::string_view kInFolder[] = {"pytorch_model.bin", "pytorch_model.bin.index.json"};

}  // namespace

constinit const Format kPthFormat{.name = "pth",
                                  .noun = "a zip archive",
                                  .endings = kEndings,
                                  .in_folder = kInFolder,
                                  .claim = claim,
                                  .open = open,
                                  .writer = &kPthWriter};

}  // namespace tenon
