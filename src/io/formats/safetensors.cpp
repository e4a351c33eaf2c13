// The safetensors format: a JSON header with names, dtypes, shapes and places, then the bytes.
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/checked.h"
#include "base/stored_dtype.h"
#include "base/text.h"
#include "io/formats/safetensors_notes.h"
#include "io/formats/safetensors_plan.h"
#include "io/formats/table.h"
#include "io/pickle/rebuild.h"
#include "io/support/shown.h"
#include "tenon/error.h"

namespace tenon {

namespace {

namespace json = simdjson::ondemand;

constexpr std::uint64_t kLargestHeader = 100'000'000;
constexpr std::string_view kMetadata = "__metadata__";

struct Entry {
  std::string name;
  TensorRecord tensor;
  std::uint64_t begin, end;
};

std::optional<DType> dtype_named(std::string_view code) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (!code.empty() && kDTypeTable[i].safetensors == code) return static_cast<DType>(i);
  }
  return std::nullopt;
}

class Header {
 public:
  Header(const Source& source, std::uint64_t length, ReadMeter& meter)
      : source_(source), meter_(meter), text_(static_cast<std::size_t>(length)) {
    source.read_at(8, std::as_writable_bytes(std::span(text_.data(), text_.size())));
    if (text_.size() == 0 || text_.data()[0] != '{') fail("the header does not begin with {");
  }

  void parse() {
    // The text, where its structure is, and what is unescaped of it.
    const std::uint64_t passing = 8 * text_.size();
    meter_.memory(passing);
    try {
      json::parser parser;
      json::document document = parser.iterate(text_);
      for (auto field : document.get_object()) {
        std::string name(std::string_view(field.unescaped_key()));
        if (name == kMetadata)
          metadata(field.value());
        else
          tensor(std::move(name), field.value());
      }
      const char* rest = nullptr;
      if (document.current_location().get(rest) == simdjson::SUCCESS)
        fail("something follows the header's JSON");
    } catch (const simdjson::simdjson_error& error) {
      fail(concat("the header is no JSON of the kind it should be: ", error.what()));
    }
    check_padding();
    check_names();
    // They stay as long as the file is open.
    if (entries_.capacity() / 8 > entries_.size() / 7) {
      meter_.release((entries_.capacity() - entries_.size()) * sizeof(Entry));
      entries_.shrink_to_fit();
    }
    meter_.release(passing);
  }

  std::vector<Entry>& entries() noexcept { return entries_; }
  std::vector<Value::Entry>& notes() noexcept { return notes_; }
  [[noreturn]] void fail(const std::string& reason) const {
    throw FormatError(source_.name(), 8, reason);
  }

 private:
  void metadata(json::value value) {
    if (has_notes_) fail("__metadata__ twice");
    has_notes_ = true;
    for (auto field : value.get_object()) {
      std::string key(std::string_view(field.unescaped_key()));
      std::string note(std::string_view(field.value().get_string()));
      meter_.text(key.size() + note.size() + 2 * ReadMeter::kObject);
      notes_.emplace_back(Value(std::move(key)), Value(std::move(note)));
    }
    std::vector<std::string_view> keys;
    keys.reserve(notes_.size());
    for (const Value::Entry& entry : notes_) keys.push_back(entry.first.as_string());
    std::sort(keys.begin(), keys.end());
    if (std::adjacent_find(keys.begin(), keys.end()) != keys.end())
      fail("a key of __metadata__ twice");
  }

  void tensor(std::string name, json::value value) {
    meter_.text(name.size());
    charge_growth(meter_, entries_);
    Entry entry{std::move(name), {}, 0, 0};
    bool has_dtype = false, has_shape = false, has_place = false;
    for (auto field : value.get_object()) {
      const std::string_view key = field.unescaped_key();
      if (key == "dtype" && !has_dtype) {
        has_dtype = true;
        const std::string_view code = field.value().get_string();
        const auto dtype = dtype_named(code);
        if (!dtype)
          fail(concat("tensor ", shown(entry.name), ": dtype ", shown(code), " is not known"));
        entry.tensor.dtype = *dtype;
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        shape(entry, field.value());
      } else if (key == "data_offsets" && !has_place) {
        has_place = true;
        std::size_t n = 0;
        for (auto number : field.value().get_array()) {
          if (n == 2) fail(concat("tensor ", shown(entry.name), ": more than two offsets"));
          (n++ == 0 ? entry.begin : entry.end) = std::uint64_t(number.get_uint64());
        }
        if (n != 2) fail(concat("tensor ", shown(entry.name), ": less than two offsets"));
      } else {
        fail(concat("tensor ", shown(entry.name), ": key ", shown(key),
                    " is not known, or comes twice"));
      }
    }
    if (!has_dtype || !has_shape || !has_place)
      fail(concat("tensor ", shown(entry.name), ": dtype, shape or data_offsets are missing"));
    // The format counts numbers of four bits, PyTorch pairs of them.
    if (const std::int64_t each = values_in_element(entry.tensor.dtype); each != 1) {
      Shape& sizes = entry.tensor.shape;
      if (sizes.empty() || sizes[sizes.size() - 1] % each != 0) {
        fail(concat("tensor ", shown(entry.name), ": ", each == 2 ? "an odd" : "an uneven",
                    " number of ", info(entry.tensor.dtype).safetensors, " in a row"));
      }
      sizes[sizes.size() - 1] /= each;
    }
    entries_.push_back(std::move(entry));
  }

  void shape(Entry& entry, json::value value) {
    std::vector<std::int64_t> sizes;
    for (auto number : value.get_array()) {
      const std::uint64_t size = number.get_uint64();
      if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        fail(concat("tensor ", shown(entry.name), ": a size that is too large"));
      if (sizes.size() == kMostDimensions)
        fail(concat("tensor ", shown(entry.name), ": more than ", kMostDimensions, " dimensions"));
      sizes.push_back(static_cast<std::int64_t>(size));
    }
    entry.tensor.shape = Shape(sizes);
    meter_.memory(2 * heap_bytes(entry.tensor.shape));  // and as many strides
  }

  void check_padding() const {
    std::size_t end = text_.size();
    while (end > 0 && text_.data()[end - 1] == ' ') --end;
    if (end == 0 || text_.data()[end - 1] != '}')
      fail("the header is padded with something else than spaces");
  }

  // Sorted, not hashed: the file chooses the names.
  void check_names() const {
    std::vector<std::string_view> names;
    names.reserve(entries_.size());
    for (const Entry& entry : entries_) names.push_back(entry.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) fail(concat("tensor ", shown(*twice), " twice"));
  }

  const Source& source_;
  ReadMeter& meter_;
  simdjson::padded_string text_;
  std::vector<Entry> entries_;
  std::vector<Value::Entry> notes_;
  bool has_notes_ = false;
};

class SafetensorsDocument final : public Document {
 public:
  SafetensorsDocument(std::shared_ptr<const Source> source, const DocumentOptions& options)
      : Document(std::move(source), options) {
    const std::uint64_t size = source_->size();
    const auto fail = [&](std::uint64_t at, const std::string& reason) {
      throw FormatError(source_->name(), at, reason);
    };
    if (size < 8) fail(0, "too short for a safetensors file");
    std::uint64_t length = 0;
    source_->read_at(0, std::as_writable_bytes(std::span(&length, 1)));
    if (length > kLargestHeader)
      fail(0, concat("a header of ", length, " bytes, more than 100 million"));
    if (length > size - 8)
      fail(0, concat("a header of ", length, " bytes, and ", size - 8, " are there"));
    Header header(*source_, length, opening());
    header.parse();
    entries_ = std::move(header.entries());
    notes_ = std::move(header.notes());
    const std::uint64_t start = 8 + length, room = size - start;
    check_places(header, start, room);
    read_ours();
  }

  std::string_view format() const noexcept override { return "safetensors"; }
  // The names of entries stay: those of storages are theirs.
  void let_go(ReadMeter& meter) noexcept override {
    ours_.reset();
    meter.release(std::exchange(ours_cost_, 0));
  }
  bool has_checksums() const noexcept override { return false; }

  Value build(Builder& builder, ReadMeter& meter) const override {
    const std::size_t count = ours_ ? ours_->tensors().size() : entries_.size();
    for (const Entry& entry : entries_) {
      meter.text(entry.name.size());
      meter.memory(2 * heap_bytes(entry.tensor.shape));
    }
    meter.memory(count * (ReadMeter::kTensor + sizeof(Value::Entry) + ReadMeter::kObject));
    meter.work(count * 64);
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      StorageRecord storage;
      storage.source = source_.get();
      storage.key = entry.name;
      storage.location = "cpu";
      storage.dtype = entry.tensor.dtype;
      storage.offset = entry.begin;
      storage.nbytes = storage.stored = entry.end - entry.begin;
      storage.untyped = !larger_.empty() && larger_[i];
      builder.storage(i, storage);
    }
    Value own;
    if (!notes_.empty()) own = Value::dict({{Value(kMetadata), Value::dict(notes_)}});
    if (ours_) return build_ours(builder, own, meter);
    std::vector<Value::Entry> all;
    all.reserve(entries_.size());
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      TensorRecord tensor = entries_[i].tensor;
      tensor.storage = i;
      all.emplace_back(Value(entries_[i].name), Value(builder.tensor(tensor)));
    }
    return Value::dict(std::move(all), std::move(own));
  }
  bool is_alias(std::string_view name) const noexcept override { return aliases_.contains(name); }

 private:
  // Every byte behind the header belongs to one tensor. Offsets become places in the file.
  void check_places(const Header& header, std::uint64_t start, std::uint64_t room) {
    std::vector<std::uint32_t> order(entries_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(entries_[a].begin, entries_[a].end) <
             std::pair(entries_[b].begin, entries_[b].end);
    });
    std::uint64_t expected = 0;
    for (const std::uint32_t i : order) {
      Entry& entry = entries_[i];
      const auto about = [&](const std::string& what) {
        header.fail(concat("tensor ", shown(entry.name), ": ", what));
      };
      if (entry.begin != expected || entry.end < entry.begin)
        about(concat("offsets ", entry.begin, " to ", entry.end, " where ", expected,
                     " should follow"));
      if (entry.end > room)
        about(concat("it ends at ", entry.end, ", and the file has ", room, " bytes of data"));
      if (const std::string wrong = wrong_sizes(entry); !wrong.empty()) about(wrong);
      expected = entry.end;
      entry.begin += start;
      entry.end += start;
    }
    if (expected != room) {
      throw FormatError(source_->name(), start + expected,
                        concat(room - expected, " bytes behind the last tensor belong to none"));
    }
  }

  static std::string wrong_sizes(Entry& entry) {
    TensorRecord& tensor = entry.tensor;
    std::int64_t stride = 1;
    std::int64_t all = itemsize(tensor.dtype);  // below 2^63, as everywhere: Note [Sizes multiply]
    tensor.stride = Dims::filled(tensor.shape.size(), 1);
    bool empty = false;
    for (std::size_t d = tensor.shape.size(); d-- > 0;) {
      const std::int64_t size = tensor.shape[d];
      tensor.stride[d] = stride;
      if (size == 0) empty = true;
      const auto product = checked_mul(all, std::max<std::int64_t>(size, 1));
      const auto next = checked_mul(stride, std::max<std::int64_t>(size, 1));
      if (!product || !next) return "its sizes overflow";
      all = *product;
      stride = *next;
    }
    const std::uint64_t wanted = empty ? 0 : static_cast<std::uint64_t>(all);
    if (wanted != entry.end - entry.begin)
      return concat("its sizes need ", wanted, " bytes, and its offsets give ",
                    entry.end - entry.begin);
    return {};
  }

  Value build_ours(Builder& builder, const Value& own, ReadMeter& meter) const {
    const auto& known = ours_->tensors();
    std::vector<Value> made(known.size());
    const auto make = [&](std::size_t i) {
      TensorRecord record = known[i].record;
      record.storage = known[i].stored;
      const bool parameter = record.parameter, requires_grad = record.requires_grad;
      record.parameter = false;
      if (parameter) record.requires_grad = false;
      const Tensor tensor = builder.tensor(record);
      made[i] = parameter ? builder.parameter(tensor, requires_grad) : tensor;
    };
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i].same < 0) make(i);
    }
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i].same >= 0) made[i] = made[static_cast<std::size_t>(known[i].same)];
    }
    return ours_->tree(
        made, own,
        [&](const Value& object) {
          if (object.object_name() == kSparseName) builder.sparse(object);
        },
        meter);
  }

  // What we wrote beside the tensors, if it fits them.
  void read_ours() {
    std::string tensors, values;
    std::vector<Value::Entry> others;
    for (const auto& [key, text] : notes_) {
      if (key.as_string() == kTensorNotes)
        tensors = text.as_string();
      else if (key.as_string() == kValueNotes)
        values = text.as_string();
      else
        others.emplace_back(key, text);
    }
    if (tensors.empty() && values.empty()) return;
    std::vector<StoredTensor> stored;
    for (const Entry& entry : entries_)
      stored.push_back({entry.name, &entry.tensor, entry.end - entry.begin});
    const std::uint64_t before = opening().held();
    ours_ = SafetensorsNotes::read(stored, tensors, values, opening());
    ours_cost_ = opening().held() - before;
    if (!ours_) return;
    if (ours_->added_format())
      std::erase_if(others, [](const auto& note) { return note.first == Value("format"); });
    notes_ = std::move(others);
    larger_.resize(entries_.size());
    for (const auto& known : ours_->tensors()) {
      aliases_.insert(known.name);
      const DType own = entries_[known.stored].tensor.dtype;
      if (itemsize(known.record.dtype) > itemsize(own)) larger_[known.stored] = true;
    }
    for (const Entry& entry : entries_) aliases_.erase(entry.name);
  }

  std::vector<Entry> entries_;
  std::vector<Value::Entry> notes_;
  std::optional<SafetensorsNotes> ours_;
  std::uint64_t ours_cost_ = 0;
  std::set<std::string, std::less<>> aliases_;  // names of tensors in the bytes of others
  std::vector<bool> larger_;  // of entries: whether a tensor in their bytes has larger elements
};

std::unique_ptr<Document> open(std::shared_ptr<const Source> source,
                               const DocumentOptions& options) {
  return std::make_unique<SafetensorsDocument>(std::move(source), options);
}

// A length that fits the file, and a brace. The length may look like anything else.
Claim claim(const Beginning& beginning) {
  if (beginning.bytes.size() < 9 || beginning.bytes[8] != '{') return Claim::none;
  std::uint64_t length = 0;
  std::memcpy(&length, beginning.bytes.data(), sizeof length);
  return length <= beginning.size - 8 ? Claim::likely : Claim::none;
}

std::string near(const Beginning& beginning) {
  if (beginning.bytes.size() < 9 || beginning.bytes[8] != '{') return {};
  return "a safetensors file that is cut short: its header is longer than the file";
}

constexpr std::string_view kEndings[] = {".safetensors"};
constexpr std::string_view kInFolder[] = {"model.safetensors", "model.safetensors.index.json"};

}  // namespace

constinit const Format kSafetensorsFormat{.name = "safetensors",
                                          .noun = "safetensors",
                                          .endings = kEndings,
                                          .endings_bind = true,
                                          .in_folder = kInFolder,
                                          .claim = claim,
                                          .near = near,
                                          .open = open,
                                          .writer = &kSafetensorsWriter};

}  // namespace tenon
