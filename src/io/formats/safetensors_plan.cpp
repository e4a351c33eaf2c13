#include "io/formats/safetensors_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/checked.h"
#include "base/stored_dtype.h"
#include "base/text.h"
#include "base/visible.h"
#include "core/autograd_meta.h"
#include "core/body_editor.h"
#include "core/uninitialized.h"
#include "io/json/value_json.h"
#include "io/read/flattened.h"
#include "io/read/tensors.h"
#include "io/read/tree_map.h"
#include "io/read/walk.h"
#include "io/support/shown.h"
#include "io/write/overlay.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"

namespace tenon {

namespace {

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kLargestHeader = 100'000'000;
constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
// About what is kept of a tensor to write it, and of its payload.
constexpr std::uint64_t kRecordCost = 384;

// A dtype the format has no name for is kept as bytes.
bool has_code(const Layout& layout) {
  if (const std::int64_t each = values_in_element(layout.dtype); each != 1) {
    if (layout.shape.empty()) return false;  // several numbers
    // The format counts all of them, which a row without elements may have too many of.
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / each;
    if (layout.shape[layout.shape.size() - 1] > most) return false;
  }
  return !info(layout.dtype).safetensors.empty();
}

[[noreturn]] void changed_meanwhile() {
  throw ValueError(
      "save: user code has swapped a tensor, or given it other data, while it was being saved");
}

bool is_dict_of_tensors(const Value& tree) {
  if (tree.kind() != Value::Kind::dict) return false;
  for (const auto& [key, item] : tree.entries()) {
    if (key.kind() != Value::Kind::string || !item.is_tensor()) return false;
  }
  return true;
}

}  // namespace

SafetensorsPlan::SafetensorsPlan(const Value& tree, Supply& supply, bool strict, ReadMeter& meter)
    : supply_(supply), meter_(meter), strict_(strict), values_(meter) {
  const Value whole = with_flattened(tree, meter);
  const auto check = [](const Tensor& tensor) {
    if (!tensor.body().is_wrapper()) return;
    // One whose flatten() has swapped what was looked at before.
    if (!is_uninitialized(tensor.body())) changed_meanwhile();
    throw ValueError(concat("save: an ", tensor.body().type_name(),
                            " has no shape yet, and safetensors holds none: initialise the module "
                            "with a forward pass first, or save a .pth"));
  };
  for_each_tensor(whole, check, meter);
  name_tensors(whole);
  describe(whole);
  find_aliases();
  // Of one whose elements lie apart, all bytes between them are read, and each element takes as
  // long as many that lie together.
  std::uint64_t apart = 0;
  for (const NamedTensor& named : tensors_) {
    const Layout& layout = named.tensor.layout();
    if (is_stretch(layout)) continue;
    const ByteSpan span = bytes_of(layout);
    const std::uint64_t cost =
        std::max(span.end - span.begin, packing_cost(layout.shape, layout.strides, layout.dtype));
    apart = checked_add(apart, cost - std::min(cost, size_of(named))).value_or(kAll);
  }
  supply_.will_write(checked_add(total_size(), apart).value_or(kAll));
}

// Tensors may repeat few bytes, so that together they are more than any file can be.
std::uint64_t SafetensorsPlan::total_size() const {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t total = 0;
  for (const NamedTensor& named : tensors_) {
    const std::uint64_t own = size_of(named);
    if (own > kMost - total) {
      throw ValueError(concat("save: tensors that repeat their elements need more than ", kMost,
                              " bytes together, up to ", visible(named.name, kMostShown),
                              ": leave some out"));
    }
    total += own;
  }
  return total;
}

void SafetensorsPlan::note(std::string text) {
  if (strict_) throw ValueError(concat("save: ", text));
  meter_.text(text.size() + sizeof text);
  notes_.push_back(std::move(text));
}

void SafetensorsPlan::name_tensors(const Value& tree) {
  // What is shared is named in every place.
  std::unordered_map<const void*, std::size_t> known;
  std::set<std::string, std::less<>> names;
  std::uint64_t passing = 0;  // what these two take
  std::size_t place = 0;
  Walk walk(meter_, [&](const std::string& name, const Tensor& tensor) {
    charge_growth(meter_, tensors_);
    meter_.memory(name.size() + sizeof(NamedTensor));
    const std::uint64_t noted = name.size() + 3 * ReadMeter::kObject;
    meter_.memory(noted);
    passing += noted;
    if (name == kMetadata)
      throw ValueError("save: no tensor can be called __metadata__ in safetensors");
    if (!names.insert(name).second) {
      throw ValueError(concat("save: two tensors are named ", shown(name),
                              " when keys are joined by dots, as safetensors needs it"));
    }
    check_dimensions(tensor.layout().shape);
    if (!supply_.has_bytes(tensor)) {
      throw ValueError(concat("save: ", visible(name, kMostShown),
                              " is a meta tensor, and safetensors holds none"));
    }
    const auto [found, fresh] = known.try_emplace(Value(tensor).identity(), tensors_.size());
    NamedTensor named{name, tensor, {}, place++, tensor.storage()};
    if (fresh)
      tensors_.push_back(std::move(named));
    else
      tensors_[found->second].aliases.push_back(std::move(named));
  });
  walk.run(tree);
  meter_.release(passing);
}

namespace {

// Tensors of one storage that are written, and what lies in them.
class Carriers {
 public:
  explicit Carriers(const std::vector<NamedTensor>& tensors) noexcept : tensors_(tensors) {}

  // One whose bytes have all of the tensor's.
  std::optional<std::size_t> around(const Layout& layout) const {
    const ByteSpan own = bytes_of(layout);
    const auto before = last_from(own.begin);
    if (before == stretches_.end() || before->second.end < own.end) return std::nullopt;
    const bool fits =
        (own.begin - before->first) % static_cast<std::uint64_t>(layout.itemsize()) == 0;
    return fits ? std::optional(before->second.tensor) : std::nullopt;
  }
  // One that has some of them.
  std::optional<std::size_t> overlapping(const Layout& layout) const {
    const ByteSpan own = bytes_of(layout);
    if (const auto before = last_from(own.begin);
        before != stretches_.end() && before->second.end > own.begin)
      return before->second.tensor;
    if (const auto next = stretches_.lower_bound(own.begin);
        next != stretches_.end() && next->first < own.end)
      return next->second.tensor;
    for (const std::size_t i : others_) {
      const ByteSpan other = bytes_of(tensors_[i].tensor.layout());
      if (own.begin < other.end && other.begin < own.end) return i;
    }
    return std::nullopt;
  }
  void add(std::size_t tensor) {
    const Layout& layout = tensors_[tensor].tensor.layout();
    const ByteSpan own = bytes_of(layout);
    if (is_stretch(layout))
      stretches_.emplace(own.begin, Stretch{own.end, tensor});
    else if (others_.size() < 64)
      others_.push_back(tensor);
  }

 private:
  struct Stretch {
    std::uint64_t end;
    std::size_t tensor;
  };
  // The last that begins there or before. Larger ones come first and what is inside them is not
  // added, so that the later one begins, the later it ends.
  std::map<std::uint64_t, Stretch>::const_iterator last_from(std::uint64_t begin) const {
    const auto next = stretches_.upper_bound(begin);
    return next == stretches_.begin() ? stretches_.end() : std::prev(next);
  }

  const std::vector<NamedTensor>& tensors_;
  std::map<std::uint64_t, Stretch> stretches_;  // by where they begin
  std::vector<std::size_t> others_;             // with gaps: some of them
};

}  // namespace

// Tensors that lie inside the bytes of another one become its aliases.
void SafetensorsPlan::find_aliases() {
  std::unordered_map<const void*, std::size_t> group_of;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto [place, fresh] =
        group_of.try_emplace(tensors_[i].tensor.storage().identity(), groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(i);
  }
  std::vector<bool> gone(tensors_.size());
  for (auto& members : groups) {
    if (members.size() < 2) continue;
    // The largest first: what is inside something is inside that.
    std::sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
      const ByteSpan x = bytes_of(tensors_[a].tensor.layout()),
                     y = bytes_of(tensors_[b].tensor.layout());
      return std::pair(y.end - y.begin, a) < std::pair(x.end - x.begin, b);
    });
    Carriers carriers(tensors_);
    for (const std::size_t i : members) {
      const Layout& own = tensors_[i].tensor.layout();
      if (own.numel() == 0) continue;
      const auto found = carriers.around(own);
      if (!found) {
        if (const auto other = carriers.overlapping(own)) {
          note(concat(visible(tensors_[i].name, kMostShown), " and ",
                      visible(tensors_[*other].name, kMostShown),
                      " share bytes, of which neither is all: both are written"));
        }
        carriers.add(i);
        continue;
      }
      NamedTensor& carrier = tensors_[*found];
      const auto same = std::exchange(tensors_[i].aliases, {});
      carrier.aliases.push_back(tensors_[i]);
      carrier.aliases.insert(carrier.aliases.end(), same.begin(), same.end());
      gone[i] = true;
    }
  }
  std::vector<NamedTensor> kept;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!gone[i]) kept.push_back(std::move(tensors_[i]));
  }
  tensors_ = std::move(kept);
  for (const NamedTensor& named : tensors_) note_what_is_lost(named);
}

void SafetensorsPlan::note_what_is_lost(const NamedTensor& named) {
  const Layout& layout = named.tensor.layout();
  if (!has_code(layout)) {
    note(concat(visible(named.name, kMostShown), ": safetensors has no ", info(layout.dtype).name,
                ", so others see its bytes"));
  }
  if (layout.conj || layout.neg) {
    note(concat(visible(named.name, kMostShown),
                ": that it is a view of conjugates or negatives is not kept; its elements are"));
  }
  const auto without_attributes = [&](const NamedTensor& one) {
    const auto* attributes = BodyEditor::attributes(one.tensor.body());
    if (attributes != nullptr && !attributes->values.empty())
      note(concat(visible(one.name, kMostShown), ": its attributes are not kept"));
  };
  without_attributes(named);
  for (const NamedTensor& alias : named.aliases) {
    if (!alias.tensor.is(named.tensor)) without_attributes(alias);
  }
  if (!layout.is_contiguous() && layout.numel() != 0) {
    note(concat(visible(named.name, kMostShown), ": its strides ", layout.strides.repr(),
                " are not kept: safetensors holds elements in order"));
  }
}

// The tree, if it is more than a dict of tensors.
void SafetensorsPlan::describe(const Value& tree) {
  std::uint64_t passing = tensors_.size() * ReadMeter::kObject;
  meter_.memory(passing);
  std::unordered_map<const void*, const std::string*> names;
  for (const NamedTensor& named : tensors_)
    names.emplace(Value(named.tensor).identity(), &named.name);
  const TensorText by_name = [&](MeteredText& out, const Tensor& tensor) {
    const auto found = names.find(Value(tensor).identity());
    if (found == names.end())
      throw ValueError("save: a tensor among the attributes of a dict has no name in safetensors");
    out += R"({"tensor": )";
    append_json_text(out, *found->second);
    out += "}";
  };
  Value attributes = tree.kind() == Value::Kind::dict ? tree.attributes() : Value();
  // Texts of the format's own go back to where they came from.
  const Value* own = attributes.is_none() ? nullptr : attributes.find(Value(kMetadata));
  bool texts = own != nullptr && own->kind() == Value::Kind::dict;
  for (const auto& [key, text] : texts ? own->entries() : std::span<const Value::Entry>())
    texts = texts && key.kind() == Value::Kind::string && text.kind() == Value::Kind::string;
  if (texts) {
    for (const auto& [key, text] : own->entries()) {
      if (key.as_string() == kTensorNotes || key.as_string() == kValueNotes) continue;
      meter_.text(key.as_string().size() + text.as_string().size() + ReadMeter::kObject);
      metadata_.emplace_back(key.as_string(), text.as_string());
    }
    std::vector<Value::Entry> others;
    for (const auto& [key, value] : attributes.entries()) {
      if (key != Value(kMetadata)) others.emplace_back(key, value);
    }
    attributes = others.empty() ? Value() : Value::dict(std::move(others));
  }
  // Without it, the library most of these files are for does not open them.
  const bool has_format = std::any_of(metadata_.begin(), metadata_.end(),
                                      [](const auto& entry) { return entry.first == "format"; });
  if (!has_format) metadata_.insert(metadata_.begin(), {"format", "pt"});
  const char* const added = has_format ? "" : R"(, "added_format": true)";
  const bool flat = flat_ = is_dict_of_tensors(tree);
  const bool ordered = tree.is_ordered_dict() && !(texts && attributes.is_none());
  if (flat && !ordered && attributes.is_none() && has_format) return meter_.release(passing);
  if (strict_ && !flat)
    throw ValueError("save: safetensors holds a dict of tensors, and this is more than that");
  if (flat) {
    values_ += concat(R"({"state_dict": )", ordered ? "true" : "false", R"(, "attributes": )");
    append_json(values_, attributes, by_name, meter_);
  } else {
    Value bare = tree;
    if (tree.kind() == Value::Kind::dict) {
      passing += tree.entries().size() * sizeof(Value::Entry);
      meter_.memory(tree.entries().size() * sizeof(Value::Entry));
      bare = dict_like(tree, {tree.entries().begin(), tree.entries().end()}, attributes);
    }
    values_ += R"({"tree": )";
    append_json(values_, bare, by_name, meter_);
  }
  values_ += concat(added, "}");
  meter_.release(passing);
}

std::uint64_t SafetensorsPlan::size_of(const NamedTensor& named) const {
  const Layout& layout = named.tensor.layout();
  return static_cast<std::uint64_t>(layout.numel() * layout.itemsize());
}

// What readers other than ours do not know of a tensor. Empty if there is nothing.
std::string SafetensorsPlan::facts_of(const NamedTensor& named, const NamedTensor& carrier,
                                      std::size_t place) const {
  const bool is_alias = &named != &carrier;
  const Tensor& tensor = named.tensor;
  const Layout& layout = tensor.layout();
  const bool same = is_alias && Value(tensor).identity() == Value(carrier.tensor).identity();
  std::string out;
  const auto add = [&](std::string_view key, const std::string& value) {
    out += concat(out.empty() ? "{\"" : ", \"", key, "\": ", value);
  };
  if (is_alias) {
    add("of", json_text(carrier.name));
    add("at", std::to_string(place));
  }
  if (same) return out + "}";
  if (is_alias || !has_code(layout)) {
    const std::uint64_t start =
        is_alias ? bytes_of(layout).begin - bytes_of(carrier.tensor.layout()).begin : 0;
    const Layout& stored = is_alias ? carrier.tensor.layout() : layout;
    const DType kept = has_code(stored) ? stored.dtype : uint8;
    add("stored_dtype", json_text(info(kept).name));
    add("stored_bytes", std::to_string(size_of(carrier)));
    add("dtype", json_text(info(layout.dtype).name));
    add("shape", json_numbers(layout.shape));
    add("stride",
        json_numbers(is_alias
                         ? layout.strides
                         : Layout::packed(layout.shape, layout.dtype, Device::meta()).strides));
    add("offset", std::to_string(start / static_cast<std::uint64_t>(layout.itemsize())));
    if (is_alias && layout.conj) add("conj", "true");
    if (is_alias && layout.neg) add("neg", "true");
  }
  if (tensor.is_parameter()) add("parameter", "true");
  if (tensor.requires_grad()) add("requires_grad", "true");
  return out.empty() ? out : out + "}";
}

// The same of several, by their names.
void SafetensorsPlan::append_facts(MeteredText& out, std::span<const NamedTensor> chosen) const {
  // Where each is among the names of this file.
  std::vector<std::size_t> places;
  for (const NamedTensor& named : chosen) {
    places.push_back(named.place);
    for (const NamedTensor& alias : named.aliases) places.push_back(alias.place);
  }
  std::sort(places.begin(), places.end());
  for (const NamedTensor& named : chosen) {
    const auto add = [&](const std::string& name, const std::string& one) {
      if (one.empty()) return;
      out += out.empty() ? "{" : ", ";
      append_json_text(out, name);
      out += ": ";
      out += one;
    };
    add(named.name, facts_of(named, named, 0));
    // One tensor under several names is described under the first of them.
    std::unordered_map<const void*, const NamedTensor*> described = {
        {Value(named.tensor).identity(), &named}};
    for (const NamedTensor& alias : named.aliases) {
      const NamedTensor* before =
          described.try_emplace(Value(alias.tensor).identity(), &alias).first->second;
      const auto found = std::lower_bound(places.begin(), places.end(), alias.place);
      add(alias.name, facts_of(alias, before == &alias ? named : *before,
                               static_cast<std::size_t>(found - places.begin())));
    }
  }
  if (!out.empty()) out += "}";
}

namespace {

void append_entry(MeteredText& out, const NamedTensor& named, std::uint64_t start,
                  std::uint64_t size) {
  const Layout& layout = named.tensor.layout();
  const bool known = has_code(layout);
  Shape shape = layout.shape;
  // The format counts numbers of four bits, PyTorch pairs of them.
  const std::int64_t each = values_in_element(layout.dtype);
  if (known && each != 1) shape[shape.size() - 1] *= each;
  if (!known && shape.size() == kMostDimensions)
    shape = Shape({static_cast<std::int64_t>(size)});
  else if (!known)
    shape.push_back(layout.itemsize());
  append_json_text(out, named.name);
  out += concat(R"(:{"dtype":")", known ? info(layout.dtype).safetensors : "U8", R"(","shape":)",
                json_numbers(shape), R"(,"data_offsets":[)", start, ",", start + size, "]}");
}

}  // namespace

// With its length before it.
std::string SafetensorsPlan::header(std::span<const NamedTensor> chosen,
                                    std::span<const std::uint64_t> starts, bool first) const {
  constexpr std::size_t kLength = 8;
  MeteredText out(meter_);
  out += std::string_view("\0\0\0\0\0\0\0\0{", kLength + 1);
  const auto separate = [&] {
    if (out.size() > kLength + 1) out += ",";
  };
  bool any = false;
  const auto add = [&](std::string_view key, std::string_view text) {
    if (any)
      out += ",";
    else
      out += concat(json_text(kMetadata), ":{");
    any = true;
    append_json_text(out, key);
    out += ":";
    append_json_text(out, text);
  };
  // Other libraries look for the format in every shard, and know short words for it. The dict's own
  // is read from the first, and may be long.
  constexpr std::size_t kLongestFormat = 64;
  for (const auto& [key, text] : metadata_) {
    if (first || (key == "format" && text.size() <= kLongestFormat))
      add(key, text);
    else if (key == "format")
      add(key, "pt");
  }
  {
    MeteredText facts(meter_);
    append_facts(facts, chosen);
    if (!facts.empty()) add(kTensorNotes, facts.view());
  }
  if (!values_.empty() && first) add(kValueNotes, values_.view());
  if (any) out += "}";
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    separate();
    append_entry(out, chosen[i], starts[i], size_of(chosen[i]));
  }
  out += "}";
  out += std::string((kAlignment - out.size() % kAlignment) % kAlignment, ' ');
  const std::uint64_t length = out.size() - kLength;
  if (length > kLargestHeader) {
    throw ValueError(concat("save: names and shapes of ", length,
                            " bytes are more than safetensors allows, 100 million: write several "
                            "files with .shard_size"));
  }
  std::string text = out.take();
  std::copy_n(reinterpret_cast<const char*>(&length), kLength, text.begin());
  return text;
}

FilePlan SafetensorsPlan::file(std::size_t first, std::size_t count) {
  const auto chosen = std::span(tensors_).subspan(first, count);
  // Who is told of progress may have done so since.
  const auto is_as_planned = [](const NamedTensor& one) {
    return one.tensor.storage().identity() == one.storage.identity();
  };
  for (const NamedTensor& named : chosen) {
    if (!is_as_planned(named) || !std::ranges::all_of(named.aliases, is_as_planned))
      changed_meanwhile();
  }
  meter_.memory(count * kRecordCost);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The largest elements first, so that everything may be used where it lies.
  std::vector<std::int64_t> largest(count);
  for (std::size_t i = 0; i < count; ++i) {
    largest[i] = chosen[i].tensor.layout().itemsize();
    // What has elements that size does not end with some would move those behind it out of place.
    for (const NamedTensor& alias : chosen[i].aliases) {
      const std::int64_t size = alias.tensor.layout().itemsize();
      if (size_of(chosen[i]) % static_cast<std::uint64_t>(size) == 0)
        largest[i] = std::max(largest[i], size);
    }
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(largest[b], a) < std::pair(largest[a], b);
  });
  std::vector<std::uint64_t> starts(count);
  std::uint64_t at = 0;
  for (const std::size_t i : order) {
    starts[i] = at;
    at += size_of(chosen[i]);
  }

  FilePlan plan;
  std::string lead = header(chosen, starts, first == 0);
  const std::uint64_t start = lead.size();
  plan.size = start + at;
  plan.records.reserve(count + 1);
  plan.records.push_back({0, {}, payload_of(std::move(lead)), 0, false});
  for (const std::size_t i : order) {
    const Tensor& tensor = chosen[i].tensor;
    plan.records.push_back(
        {start + starts[i], {}, packed_payload(supply_.storage(tensor), tensor.layout()), 0, true});
  }
  return plan;
}

}  // namespace tenon
