// The stream that PyTorch wrote before 1.6: five pickles, then the storages.
#include <algorithm>
#include <map>

#include "base/checked.h"
#include "base/text.h"
#include "io/formats/table.h"
#include "io/pickle/global_names.h"
#include "io/pickle/rebuild.h"
#include "io/read/byte_reader.h"
#include "io/read/tensors.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// The first pickle is this number.
constexpr std::string_view kMagic{"\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10};
constexpr std::int64_t kProtocol = 1001;
constexpr std::uint64_t kStorageCost = 128;  // bytes, for what is noted of one
constexpr std::uint64_t kLargestPickles = std::uint64_t{256} << 20, kFirstLook = 1 << 20;

class LegacyDocument final : public Document {
 public:
  LegacyDocument(std::shared_ptr<const Source> source, const DocumentOptions& options)
      : Document(std::move(source), options), inert_(options.inert) {
    held_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(source_->size(), 64)));
    source_->read_at(0, held_);
    check_magic();
    read_pickles();
    check_magic();
    const std::uint64_t at = at_;
    const Pickle protocol = next(Pickle::Names::known, nullptr);
    if (protocol.root().kind != PickleItem::Kind::integer || protocol.root().integer != kProtocol)
      refuse(at, "its protocol is not 1001, the only one there was");
    system(next(Pickle::Names::known, nullptr));
    program_ = std::make_unique<Pickle>(
        next(inert_ ? Pickle::Names::any : Pickle::Names::known, meaning_code, opening()));
    keys(next(Pickle::Names::known, nullptr));
    find_storages();
  }

  std::string_view format() const noexcept override { return "legacy"; }
  bool has_checksums() const noexcept override { return false; }
  Value build(Builder& builder, ReadMeter& meter) const override;

  struct Place {
    std::uint64_t offset;  // of the bytes, behind their count
    std::uint64_t count;
  };
  const std::map<std::string_view, Place>& places() const noexcept { return places_; }

 private:
  [[noreturn]] void refuse(std::uint64_t at, const std::string& reason) const {
    throw FormatError(source_->name(), at, reason);
  }

  // The pickles are at the front; how far they go is known when they have run. More and more of the
  // file is looked at until they end in it, and as much is kept.
  void read_pickles() {
    const std::uint64_t most = std::min(source_->size(), kLargestPickles);
    for (std::uint64_t tried = std::min(most, kFirstLook);; tried = std::min(most, tried * 4)) {
      held_.assign(static_cast<std::size_t>(tried), std::byte{0});
      source_->read_at(0, held_);
      try {
        at_ = 0;
        // Which names they have is looked at later.
        for (int i = 0; i < 5; ++i) next(Pickle::Names::any, nullptr);
        break;
      } catch (const FormatError&) {
        if (tried == most) throw;
      }
    }
    held_.resize(static_cast<std::size_t>(at_));
    held_.shrink_to_fit();
    at_ = 0;
  }
  void check_magic() {
    const Pickle magic = next(Pickle::Names::known, nullptr);
    if (magic.root().kind != PickleItem::Kind::big_integer || magic.text(magic.root()) != kMagic)
      refuse(0, "a pickle, and no checkpoint: it does not begin with PyTorch's number");
  }
  // One that is only looked at. Of what it costs, nothing stays.
  Pickle next(Pickle::Names allowed, Pickle::Meaning meaning) {
    PassingMeter meter(opening());
    return next(allowed, meaning, meter.get());
  }
  Pickle next(Pickle::Names allowed, Pickle::Meaning meaning, ReadMeter& meter) {
    Pickle pickle(std::span<const std::byte>(held_).subspan(static_cast<std::size_t>(at_)), at_,
                  source_->name(), meaning, allowed, meter);
    at_ += pickle.size();
    return pickle;
  }

  void system(const Pickle& facts) {
    const PickleItem root = facts.root();
    if (root.kind != PickleItem::Kind::node || facts.node(root).kind != PickleNode::Kind::dict)
      refuse(at_, "the facts about the system are no dict");
    const auto items = facts.items(facts.node(root));
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (items[i].kind == PickleItem::Kind::text && facts.text(items[i]) == "little_endian" &&
          (items[i + 1].kind != PickleItem::Kind::boolean || items[i + 1].integer == 0))
        refuse(at_, "written by a machine with the other byte order");
    }
  }

  void keys(const Pickle& list) {
    const PickleItem root = list.root();
    if (root.kind != PickleItem::Kind::node || list.node(root).kind != PickleNode::Kind::list)
      refuse(at_, "the list of storages is no list");
    for (const PickleItem& item : list.items(list.node(root))) {
      if (item.kind != PickleItem::Kind::text) refuse(at_, "the key of a storage is no text");
      opening().memory(kStorageCost);
      order_.push_back(list.text(item));
    }
  }

  // Counts are of elements whose size only the object's pickle knows: it is built once without
  // data.
  void find_storages();

  bool inert_;
  std::vector<std::byte> held_;
  std::uint64_t at_ = 0;
  std::unique_ptr<Pickle> program_;
  // Keys are in the bytes that are held.
  std::vector<std::string_view> order_;
  std::map<std::string_view, Place> places_;
};

// For a build in which only the storages are wanted. Tensors have their shapes, as parts of tensors
// have to fit each other.
class ShapesOnly final : public Builder {
 public:
  void storage(std::uint32_t, const StorageRecord&) override {}
  void element_type(std::uint32_t, DType) override {}
  Tensor tensor(const TensorRecord& record) override {
    return tensor_over(record, Storage::without_data(0, Device::meta()), Device::meta());
  }
  Tensor parameter(const Tensor& data, bool requires_grad) override {
    return parameter_over(data, requires_grad);
  }
  Tensor uninitialized(const UninitializedRecord& record) override {
    return uninitialized_on(Device::meta(), record);
  }
};

// Storages by their keys. Very old files have parts of storages, which are views of all of it.
class LegacyStorages final : public StorageFinder {
 public:
  LegacyStorages(const LegacyDocument& document, Builder& builder, ReadMeter& meter)
      : document_(document), builder_(builder), meter_(meter) {}
  // What it has made stays; what it has noted goes.
  ~LegacyStorages() { meter_.release(charged_); }
  LegacyStorages(const LegacyStorages&) = delete;
  LegacyStorages& operator=(const LegacyStorages&) = delete;

  std::uint32_t storage(const StorageId& id, std::uint64_t at) override {
    if (id.untyped) fail(at, "a storage of bytes, which files of this kind do not have");
    const auto bytes = checked_mul(id.numel, itemsize(id.dtype));
    if (!bytes) fail(at, concat("storage ", id.key, ": ", id.numel, " elements overflow"));
    auto known = roots_.find(id.key);
    if (known == roots_.end()) {
      charge(kRootCost);
      known = roots_.emplace(id.key, Root{id.dtype, id.numel, id.location}).first;
    }
    const Root& root = known->second;
    if (root.dtype != id.dtype || root.numel != id.numel || root.location != id.location)
      fail(at, concat("storage ", id.key, " is described in two ways"));
    if (views_.contains(id.key))
      fail(at, concat("storage ", id.key, " has the key of a part of another"));
    if (id.is_view) check_view(id, at);
    if (const auto found = numbers_.find(id.key); found != numbers_.end()) return found->second;
    StorageRecord record;
    record.source = &document_.source();
    record.key = id.key;
    record.location = id.location;
    record.dtype = id.dtype;
    record.nbytes = record.stored = static_cast<std::uint64_t>(*bytes);
    // Where the first look is for the storages, there are no places yet.
    if (const auto place = document_.places().find(id.key); place != document_.places().end())
      record.offset = place->second.offset;
    const auto number = static_cast<std::uint32_t>(bytes_.size());
    bytes_.push_back(record.nbytes);
    numbers_.emplace(id.key, number);
    builder_.storage(number, record);
    return number;
  }
  std::uint64_t storage_bytes(std::uint32_t storage) const override { return bytes_[storage]; }

  struct Root {
    DType dtype;
    std::int64_t numel;
    std::string_view location;
  };
  const std::map<std::string_view, Root>& roots() const noexcept { return roots_; }

 private:
  [[noreturn]] void fail(std::uint64_t at, const std::string& reason) const {
    throw FormatError(document_.source().name(), at, reason);
  }

  void charge(std::uint64_t bytes) {
    meter_.memory(bytes);
    charged_ += bytes;
  }

  // PyTorch finds parts by their keys, among those of storages.
  void check_view(const StorageId& id, std::uint64_t at) {
    const auto end = checked_add(id.view_offset, id.view_size);
    if (!end || *end > id.numel)
      fail(at, concat("a part of storage ", id.key, " reaches outside it"));
    if (roots_.contains(id.view_key))
      fail(at, concat("a part of storage ", id.key, " has the key of a storage"));
    const View own{id.key, id.view_offset, id.view_size};
    auto known = views_.find(id.view_key);
    if (known == views_.end()) {
      charge(kViewCost);
      known = views_.emplace(id.view_key, own).first;
    }
    if (known->second != own)
      fail(at, concat("the part ", id.view_key, " of a storage is described in two ways"));
  }

  struct View {
    std::string_view root;
    std::int64_t offset, size;
    bool operator==(const View&) const = default;
  };
  std::map<std::string_view, View> views_;

  // Of one storage, with its number and its bytes; of one part of one.
  static constexpr std::uint64_t kRootCost = 256, kViewCost = 128;
  const LegacyDocument& document_;
  Builder& builder_;
  ReadMeter& meter_;
  std::uint64_t charged_ = 0;  // for what is noted here
  // Texts are the document's.
  std::map<std::string_view, Root> roots_;
  std::map<std::string_view, std::uint32_t> numbers_;
  std::vector<std::uint64_t> bytes_;
};

void LegacyDocument::find_storages() {
  PassingMeter meter(opening());
  ShapesOnly shapes;
  LegacyStorages storages(*this, shapes, meter.get());
  rebuild(*program_, storages, shapes, inert_, meter.get());
  std::uint64_t at = at_;
  for (const std::string_view key : order_) {
    const auto root = storages.roots().find(key);
    if (root == storages.roots().end())
      refuse(at, concat("storage ", key, " follows, and no tensor uses it"));
    if (places_.contains(key)) refuse(at, concat("storage ", key, " follows twice"));
    if (source_->size() - at < 8) refuse(at, "cut short before a storage");
    std::int64_t count = 0;
    source_->read_at(at, std::as_writable_bytes(std::span(&count, 1)));
    if (count != root->second.numel)
      refuse(at, concat("storage ", key, " has ", count, " elements, and ", root->second.numel,
                        " are announced"));
    const auto bytes = static_cast<std::uint64_t>(count * itemsize(root->second.dtype));
    if (source_->size() - at - 8 < bytes)
      refuse(at, concat("cut short: ", bytes, " bytes of storage ", key, " should follow"));
    places_.emplace(key, Place{at + 8, static_cast<std::uint64_t>(count)});
    at += 8 + bytes;
  }
  for (const auto& [key, root] : storages.roots()) {
    if (!places_.contains(key))
      refuse(at, concat("storage ", key, " is used by a tensor, and does not follow"));
  }
  if (at != source_->size()) refuse(at, "bytes behind the last storage");
}

Value LegacyDocument::build(Builder& builder, ReadMeter& meter) const {
  LegacyStorages storages(*this, builder, meter);
  return rebuild(*program_, storages, builder, inert_, meter);
}

std::unique_ptr<Document> open(std::shared_ptr<const Source> source,
                               const DocumentOptions& options) {
  return std::make_unique<LegacyDocument>(std::move(source), options);
}

// A pickle of protocol 2 or later. Whether it is PyTorch's is found out when it is opened.
Claim claim(const Beginning& beginning) {
  return beginning.bytes.starts_with('\x80') ? Claim::possible : Claim::none;
}

}  // namespace

constinit const Format kLegacyFormat{
    .name = "legacy", .noun = "a pickle", .claim = claim, .open = open};

}  // namespace tenon
