// Checkpoints in several files: *.index.json names the file each tensor is in.
#include <simdjson.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include "base/text.h"
#include "io/formats/open.h"
#include "io/formats/shard_names.h"
#include "io/formats/table.h"
#include "io/json/value_json.h"
#include "io/read/beneath.h"
#include "io/read/tensors.h"
#include "io/support/shown.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"

namespace tenon {

namespace {

namespace fs = std::filesystem;
namespace json = simdjson::dom;

constexpr std::size_t kMostShards = 100'000;

// What is said of a text that looks like an index at first, and why it is none.
std::string no_index(std::string_view why) {
  return concat("a text, and neither a checkpoint nor the index of one: ", why);
}

// A name of a file below the folder: nothing that could lead out of it.
bool stays_inside(std::string_view name) {
  if (name.empty() || name.size() > 4096 || name.find('\\') != name.npos ||
      name.find(':') != name.npos)
    return false;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return false;
    if (std::any_of(part.begin(), part.end(),
                    [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
      return false;
    at = end + 1;
  }
  return true;
}

// Numbers the storages of several documents one after another.
class Shifted final : public Builder {
 public:
  Shifted(Builder& builder, std::uint32_t first) : builder_(builder), first_(first), next_(first) {}
  void storage(std::uint32_t number, const StorageRecord& record) override {
    next_ = std::max(next_, first_ + number + 1);
    builder_.storage(first_ + number, record);
  }
  void element_type(std::uint32_t number, DType dtype) override {
    builder_.element_type(first_ + number, dtype);
  }
  Tensor tensor(const TensorRecord& record) override {
    TensorRecord moved = record;
    if (moved.storage != TensorRecord::kNoStorage) moved.storage += first_;
    return builder_.tensor(moved);
  }
  Tensor parameter(const Tensor& data, bool requires_grad) override {
    return builder_.parameter(data, requires_grad);
  }
  Tensor uninitialized(const UninitializedRecord& record) override {
    return builder_.uninitialized(record);
  }
  void sparse(const Value& sparse) override { builder_.sparse(sparse); }
  std::uint32_t next() const noexcept { return next_; }

 private:
  Builder& builder_;
  std::uint32_t first_, next_;
};

// Only the names of what is in a shard.
class NamesOnly final : public Builder {
 public:
  void storage(std::uint32_t, const StorageRecord&) override {}
  void element_type(std::uint32_t, DType) override {}
  Tensor tensor(const TensorRecord& record) override {
    return Tensor(
        make_ref<Body>(Layout::packed(record.shape, record.dtype, Device::meta()), Storage()));
  }
  Tensor parameter(const Tensor& data, bool) override { return data; }
  Tensor uninitialized(const UninitializedRecord& record) override {
    return uninitialized_on(Device::meta(), record);
  }
};

// Whether a file of that format may have such a name: other readers may go by its ending.
bool may_be_called(std::string_view name, std::string_view file) {
  return std::ranges::all_of(kFormats, [&](const Format* format) {
    return format->name == name || !format->endings_bind || !has_ending(*format, file);
  });
}

class IndexDocument final : public Document {
 public:
  IndexDocument(std::shared_ptr<const Source> source, std::unique_ptr<const Beneath> folder,
                const DocumentOptions& options)
      : Document(std::move(source), options), folder_(std::move(folder)), options_(options) {
    options_.meter = &opening();
    read_index();
    open_shards();
    check_tensors();
    options_.meter = nullptr;
  }

  std::string_view format() const noexcept override { return "index"; }
  void let_go(ReadMeter& meter) noexcept override {
    for (const auto& [name, shard] : shards_) shard->let_go(meter);
  }
  bool has_checksums() const noexcept override {
    return std::all_of(shards_.begin(), shards_.end(),
                       [](const auto& shard) { return shard.second->has_checksums(); });
  }
  std::vector<StorageRecord> stretches() const override {
    std::vector<StorageRecord> all;
    for (const auto& [name, shard] : shards_) {
      for (const StorageRecord& record : shard->stretches()) all.push_back(record);
    }
    return all;
  }
  Value build(Builder& builder, ReadMeter& meter) const override {
    std::map<std::string, Value> found;
    std::vector<Value::Entry> aliases;
    Value attributes;  // of the first, as of what is noted about modules
    bool ordered = false;
    std::uint32_t first = 0;
    for (const auto& [name, shard] : shards_) {
      Shifted shifted(builder, first);
      const Value state = shard->build(shifted, meter);
      first = shifted.next();
      for (const auto& [key, value] : state.entries()) {
        if (key.kind() != Value::Kind::string) continue;
        meter.text(key.as_string().size());
        found.emplace(key.as_string(), value);
        if (shard->is_alias(key.as_string())) aliases.emplace_back(key, value);
      }
      if (shard == shards_.begin()->second) {
        ordered = state.is_ordered_dict();
        attributes = state.attributes();
      }
    }
    std::vector<Value::Entry> all;
    meter.memory(weights_.size() * (sizeof(Value::Entry) + 2 * ReadMeter::kObject));
    all.reserve(weights_.size());
    for (const auto& [tensor, file] : weights_) all.emplace_back(Value(tensor), found.at(tensor));
    all.insert(all.end(), aliases.begin(), aliases.end());
    return ordered ? Value::ordered_dict(std::move(all), attributes)
                   : Value::dict(std::move(all), attributes);
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw FormatError(source_->name(), 0, reason);
  }

  void check_notes(const json::element& notes) const {
    if (notes.is_null()) return;
    for (const auto note : json::object(notes.get_object())) {
      if (note.key == kTotalSize && !(double(note.value.get_double()) >= 0))
        refuse("total_size is negative");
    }
  }

  void read_index() {
    if (source_->size() > kLargestIndex)
      refuse(no_index("it has more than 100 million bytes, which no index needs"));
    opening().memory(kJsonCost * source_->size());
    simdjson::padded_string text(static_cast<std::size_t>(source_->size()));
    source_->read_at(0, std::as_writable_bytes(std::span(text.data(), text.size())));
    bool has_map = false;
    try {
      // All of it is looked at, also what is of no use here: a file that is broken is refused.
      json::parser parser;
      for (const auto field : json::object(parser.parse(text).get_object())) {
        if (field.key == kWeightMap) {
          if (has_map) refuse("weight_map twice");
          has_map = true;
          for (const auto entry : json::object(field.value.get_object())) {
            const std::string_view file = entry.value.get_string();
            // Here, and when what is in the shards is compared with it.
            opening().text(2 * (entry.key.size() + file.size()) + 3 * ReadMeter::kObject);
            weights_.emplace_back(entry.key, file);
          }
        } else if (field.key == kIndexNotes) {
          check_notes(field.value);
        }
      }
    } catch (const simdjson::simdjson_error& error) {
      refuse(no_index(concat("it is no JSON of the kind that would be: ", error.what())));
    }
    opening().release(kJsonCost * source_->size());
    if (!has_map) refuse(no_index("it has no weight_map"));
    if (weights_.empty()) refuse("an index without tensors");
    std::vector<std::string_view> names;
    names.reserve(weights_.size());
    for (const auto& [name, file] : weights_) names.push_back(name);
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
      refuse(concat("tensor ", shown(*twice), " twice"));
  }

  // The shard of that name, if it is where it may be.
  std::shared_ptr<Source> open_shard(const std::string& name) {
    std::string path = concat(folder_->path(), "/", name);
    std::uint64_t parts = 1;
    const int descriptor =
        options_.follow_links ? folder_->open_anywhere(name, parts) : folder_->open(name, parts);
    const int error = errno;
    std::shared_ptr<Source> source;
    if (descriptor >= 0) source = open_taken(descriptor, path);
    constexpr std::uint64_t kCall = 512;  // what the system does for a part, in our steps
    opening().work(kCall * parts);
    if (source) return source;
    if (error != EXDEV) throw IoError("cannot open", std::move(path), error);
    throw FormatError(source_->name(), 0,
                      concat("shard ", shown(name),
                             " is a link out of its folder: allow that with .follow_links"));
  }

  // All problems are told together: the first of them, and how many there are.
  void problem(std::string text) {
    if (++count_of_problems_ <= kMostTold) problems_.push_back(std::move(text));
  }
  void report() const {
    if (count_of_problems_ == 0) return;
    std::string text =
        concat(count_of_problems_, count_of_problems_ == 1 ? " problem: " : " problems: ");
    for (std::size_t i = 0; i < problems_.size(); ++i)
      text += concat(i == 0 ? "" : "; ", problems_[i]);
    refuse(text);
  }

  void open_shards() {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> files;  // by what they are
    for (const auto& [tensor, file] : weights_) {
      if (shards_.contains(file)) continue;
      if (shards_.size() == kMostShards) refuse("more than 100000 shards");
      shards_[file] = nullptr;
      if (!stays_inside(file)) {
        problem(concat("shard ", shown(file), " is no file in the folder of the index"));
        continue;
      }
      try {
        const auto source = open_shard(file);
        // A file is paid for once: under many names it would be many.
        if (const auto identity = source->identity(); identity) {
          const auto [known, fresh] = files.try_emplace(*identity, file);
          if (!fresh) {
            problem(concat("shards ", shown(known->second), " and ", shown(file), " are one file"));
            continue;
          }
        }
        shards_[file] = open_document(source, options_);
        if (!may_be_called(shards_[file]->format(), file))
          problem(concat("shard ", shown(file), " is a ", shards_[file]->format(), " file"));
      } catch (const IoError& error) {
        // Nothing is wrong with the files if the system has no room for them.
        if (error.error_number() == EMFILE || error.error_number() == ENFILE) throw;
        problem(error.what());
      } catch (const Error& error) {
        if (opening().exceeded()) throw;  // or all other shards would be looked at, too
        problem(error.what());
      }
    }
    report();
  }

  void check_tensors() {
    std::map<std::string, std::string, std::less<>> wanted(weights_.begin(), weights_.end());
    std::map<std::string, std::string> found;
    for (const auto& [file, shard] : shards_) {
      NamesOnly names;
      PassingMeter meter(opening());
      const Value state = shard->build(names, meter.get());
      if (state.kind() != Value::Kind::dict) {
        problem(concat("shard ", shown(file), " is no state dict"));
        continue;
      }
      for (const auto& [key, value] : state.entries()) {
        if (key.kind() != Value::Kind::string) continue;
        const auto place = wanted.find(key.as_string());
        if (place == wanted.end() && shard->is_alias(key.as_string())) continue;
        if (place == wanted.end())
          problem(concat("tensor ", shown(key.as_string()), " of ", shown(file),
                         " is not in the index"));
        else if (place->second != file || !found.emplace(key.as_string(), file).second)
          problem(concat("tensor ", shown(key.as_string()), " is in ", shown(file), " too"));
      }
    }
    for (const auto& [tensor, file] : weights_) {
      if (!found.contains(tensor))
        problem(concat("tensor ", shown(tensor), " is not in ", shown(file)));
    }
    report();
  }

  std::unique_ptr<const Beneath> folder_;
  DocumentOptions options_;
  std::vector<std::pair<std::string, std::string>> weights_;
  std::map<std::string, std::unique_ptr<Document>> shards_;
  static constexpr std::size_t kMostTold = 20;
  std::vector<std::string> problems_;
  std::size_t count_of_problems_ = 0;
};

// A file with the names of tensors and the files they are in, which are beside it.
std::unique_ptr<Document> open_index(const std::string& path, const DocumentOptions& options) {
  // The index itself may be a link into a cache; its shards are beside the link.
  const std::size_t slash = path.rfind('/');
  auto folder = std::make_unique<Beneath>(slash == path.npos ? "." : path.substr(0, slash + 1));
  // Hugging Face's cache: snapshots/REVISION/NAME is a link into blobs/.
  std::string up = "..";
  for (fs::path at = folder->path(); at.has_relative_path(); at = at.parent_path(), up += "/..")
    if (at.filename() == "snapshots") folder->allow(concat(up, "/blobs"));
  return std::make_unique<IndexDocument>(open_file(path), std::move(folder), options);
}

// A text that begins with a brace. Only open_path opens it: its other files are beside it.
Claim claim(const Beginning& beginning) {
  const std::string_view text = beginning.bytes.substr(0, 64);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{' ? Claim::possible : Claim::none;
}

std::string near(const Beginning& beginning) {
  if (beginning.bytes.starts_with('{')) {
    return "a text that begins with a brace: if it is the index of a checkpoint, open it by its "
           "path, as its files are beside it";
  }
  if (beginning.bytes.starts_with('['))
    return no_index("it begins with a bracket, and an index with a brace");
  return {};
}

}  // namespace

constinit const Format kIndexFormat{
    .name = "index", .noun = "an index", .claim = claim, .near = near, .open_beside = open_index};

}  // namespace tenon
