#include "io/formats/safetensors_notes.h"

#include <simdjson.h>

#include <algorithm>
#include <map>

#include "base/stored_dtype.h"
#include "io/json/value_json.h"
#include "io/pickle/rebuild.h"
#include "io/pickle/sparse.h"
#include "io/read/tensors.h"
#include "io/read/walk.h"
#include "tenon/error.h"

namespace tenon {

namespace {

namespace json = simdjson::dom;

struct DoNotFit {};

void do_not_fit(const std::string& /*reason*/) { throw DoNotFit(); }

Dims numbers(json::element element) {
  Dims out;
  for (const json::element number : json::array(element.get_array())) {
    if (out.size() == kMostDimensions) throw DoNotFit();
    out.push_back(std::int64_t(number.get_int64()));
  }
  return out;
}

struct Note {
  std::optional<std::string_view> of;
  std::optional<DType> stored_dtype;
  std::optional<std::uint64_t> stored_bytes;
  std::optional<std::uint64_t> at;
  std::optional<DType> dtype;
  std::optional<Dims> shape, stride;
  std::int64_t offset = 0;
  bool parameter = false, requires_grad = false, conj = false, neg = false;
};

Note note_of(json::element element) {
  Note note;
  for (const auto field : json::object(element.get_object())) {
    if (field.key == "of")
      note.of = std::string_view(field.value.get_string());
    else if (field.key == "at")
      note.at = std::uint64_t(field.value.get_uint64());
    else if (field.key == "dtype")
      note.dtype = dtype_from_name(std::string_view(field.value.get_string()));
    else if (field.key == "stored_dtype")
      note.stored_dtype = dtype_from_name(std::string_view(field.value.get_string()));
    else if (field.key == "stored_bytes")
      note.stored_bytes = std::uint64_t(field.value.get_uint64());
    else if (field.key == "shape")
      note.shape = numbers(field.value);
    else if (field.key == "stride")
      note.stride = numbers(field.value);
    else if (field.key == "offset")
      note.offset = std::int64_t(field.value.get_int64());
    else if (field.key == "parameter")
      note.parameter = field.value.get_bool();
    else if (field.key == "requires_grad")
      note.requires_grad = field.value.get_bool();
    else if (field.key == "conj")
      note.conj = field.value.get_bool();
    else if (field.key == "neg")
      note.neg = field.value.get_bool();
    else
      throw DoNotFit();
  }
  return note;
}

// A tensor that others see under its name has the elements they see: all that is stored, in order,
// of a dtype that the format has no name for.
bool is_as_stored(const TensorRecord& record, const StoredTensor& stored) {
  const std::string_view code = info(record.dtype).safetensors;
  return stored.record->dtype == uint8 && (code.empty() || values_in_element(record.dtype) != 1) &&
         record.offset == 0 && !record.conj && !record.neg &&
         static_cast<std::uint64_t>(record.shape.numel() * itemsize(record.dtype)) ==
             stored.bytes &&
         record.stride == Layout::packed(record.shape, record.dtype, Device::meta()).strides;
}

// What the note makes of the tensor that is stored, or of a part of its bytes under another name.
TensorRecord record_of(const Note& note, const StoredTensor& stored) {
  TensorRecord record = *stored.record;
  if (note.shape || note.stride || note.dtype) {
    if (!note.shape || !note.stride || !note.dtype) throw DoNotFit();
    // Another program may have converted what is stored.
    if (note.stored_dtype != stored.record->dtype || note.stored_bytes != stored.bytes)
      throw DoNotFit();
    record.shape = Shape(*note.shape);
    record.stride = *note.stride;
    record.dtype = *note.dtype;
    record.offset = note.offset;
    record.conj = note.conj;
    record.neg = note.neg;
    if (!wrong_geometry(record, stored.bytes).empty()) throw DoNotFit();
    if (record.conj && !is_complex(record.dtype)) throw DoNotFit();
    if (record.neg && (is_opaque(record.dtype) || is_quantized(record.dtype))) throw DoNotFit();
    if (!note.of && !is_as_stored(record, stored)) throw DoNotFit();
  }
  record.parameter = note.parameter;
  record.requires_grad = note.requires_grad;
  if (record.requires_grad && !is_differentiable(record.dtype)) throw DoNotFit();
  return record;
}

}  // namespace

std::optional<SafetensorsNotes> SafetensorsNotes::read(std::span<const StoredTensor> stored,
                                                       std::string_view tensors,
                                                       std::string_view values, ReadMeter& meter) {
  if (tensors.empty() && values.empty()) return std::nullopt;
  try {
    SafetensorsNotes notes;
    if (notes.add_tensors(stored, tensors, meter) && notes.read_values(values, meter)) return notes;
  } catch (const DoNotFit&) {
  } catch (const simdjson::simdjson_error&) {
  }
  return std::nullopt;
}

bool SafetensorsNotes::add_tensors(std::span<const StoredTensor> stored, std::string_view text,
                                   ReadMeter& meter) {
  meter.work(text.size() / 8 + 64 * stored.size());
  meter.memory(stored.size() * (sizeof(Known) + 2 * ReadMeter::kObject));
  std::uint64_t passing = kJsonCost * text.size();  // what is let go of at the end
  meter.memory(passing);
  json::parser parser;
  std::map<std::string_view, Note> notes;
  json::element root;
  if (!text.empty()) {
    root = parser.parse(simdjson::padded_string(text));
    for (const auto field : json::object(root.get_object())) {
      meter.memory(sizeof(Known) + field.key.size());
      meter.memory(sizeof(Note) + 2 * ReadMeter::kObject);
      passing += sizeof(Note) + 2 * ReadMeter::kObject;
      if (!notes.emplace(field.key, note_of(field.value)).second) return false;
    }
  }
  std::map<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t i = 0; i < stored.size(); ++i) by_name.emplace(stored[i].name, i);
  // Aliases say where they are among all; the others fill the places between them.
  std::size_t aliases = 0;
  for (const auto& [name, note] : notes) {
    if (note.of) ++aliases;
    if (note.of.has_value() == by_name.contains(name)) return false;
  }
  std::vector<Known> all(stored.size() + aliases);
  std::vector<bool> taken(all.size());
  std::vector<std::size_t> place_of(stored.size());
  for (const auto& [name, note] : notes) {
    if (!note.of) continue;
    if (!note.at || *note.at >= all.size() || taken[static_cast<std::size_t>(*note.at)])
      return false;
    taken[static_cast<std::size_t>(*note.at)] = true;
  }
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < stored.size(); ++i, ++next) {
    while (taken[next]) ++next;
    const auto note = notes.find(stored[i].name);
    all[next] = {std::string(stored[i].name), i,
                 note == notes.end() ? *stored[i].record : record_of(note->second, stored[i])};
    place_of[i] = next;
  }
  for (const auto& [name, note] : notes) {
    if (!note.of) continue;
    const auto carrier = by_name.find(*note.of);
    if (carrier == by_name.end()) continue;
    Known& known = all[static_cast<std::size_t>(*note.at)];
    known = {std::string(name), carrier->second, record_of(note, stored[carrier->second])};
    if (!note.dtype) {
      known.record = all[place_of[carrier->second]].record;
      known.same = static_cast<std::int64_t>(place_of[carrier->second]);
    }
  }
  // The same tensor as an alias before it.
  for (const auto& [name, note] : notes) {
    if (!note.of || by_name.contains(*note.of)) continue;
    const auto other = notes.find(*note.of);
    if (other == notes.end() || note.dtype || !other->second.of ||
        !by_name.contains(*other->second.of) || *other->second.at >= *note.at)
      return false;
    const auto at = static_cast<std::size_t>(*other->second.at);
    all[static_cast<std::size_t>(*note.at)] = {std::string(name), all[at].stored, all[at].record,
                                               static_cast<std::int64_t>(at)};
  }
  for (const Known& one : all)
    meter.memory(heap_bytes(one.record.shape) + heap_bytes(one.record.stride));
  tensors_ = std::move(all);
  meter.release(passing);
  return true;
}

bool SafetensorsNotes::read_fields(std::string_view text) {
  json::parser parser;
  if (parser.allocate(text.size(), kJsonDepth) != simdjson::SUCCESS) return false;
  const json::element root = parser.parse(simdjson::padded_string(text));
  for (const auto field : json::object(root.get_object())) {
    if (field.key == "state_dict") {
      ordered_ = field.value.get_bool();
    } else if (field.key == "attributes" || field.key == "tree") {
      flat_ = field.key == "attributes";
      json_ = simdjson::minify(field.value);
    } else if (field.key == "added_format") {
      added_format_ = field.value.get_bool();
    } else {
      return false;
    }
  }
  return true;
}

bool SafetensorsNotes::read_values(std::string_view text, ReadMeter& meter) {
  if (text.empty()) return true;
  meter.memory(kJsonCost * text.size());
  if (!read_fields(text)) return false;
  meter.release(kJsonCost * text.size());
  meter.memory(json_.size());
  PassingMeter passing(meter);
  ReadMeter& trial = passing.get();
  // Every tensor has to be somewhere in the tree, and everything in the tree has to be here.
  struct Named {
    const Known* known;
    Value made = {};  // once, however often it is named
  };
  std::map<std::string_view, Named> named;
  for (const Known& one : tensors_) named.emplace(one.name, Named{&one});
  trial.memory(tensors_.size() * (sizeof(Named) + ReadMeter::kTensor + ReadMeter::kObject));
  Value tried;
  try {
    tried = from_json(
        json_,
        [&](std::string_view name) -> Value {
          const auto found = named.find(name);
          if (found == named.end()) throw DoNotFit();
          Value& made = found->second.made;
          if (made.is_none()) {
            made = tensor_over(found->second.known->record,
                               Storage::without_data(0, Device::meta()), Device::meta());
          }
          return made;
        },
        [](const Value& object) {
          if (object.object_name() == kSparseName) index_bounds(object, {});
        },
        do_not_fit, trial);
  } catch (const Error&) {
    // Notes of a file that costs too much are not passed over.
    if (trial.exceeded()) throw;
    return false;
  }
  if (flat_) return tried.is_none() || tried.kind() == Value::Kind::dict;
  // Each is where its name says, and nowhere else: others know it by that name.
  std::size_t places = 0;
  Walk walk(trial, [&](const std::string& name, const Tensor& tensor) {
    const auto found = named.find(name);
    if (found == named.end()) throw DoNotFit();
    const Known* known = found->second.known;
    while (known->same >= 0) known = &tensors_[static_cast<std::size_t>(known->same)];
    const Value& made = named.at(known->name).made;
    if (made.is_none() || !made.as_tensor().is(tensor)) throw DoNotFit();
    ++places;
  });
  walk.run(tried);
  return places == tensors_.size();
}

Value SafetensorsNotes::tree(std::span<const Value> tensors, const Value& own_attributes,
                             const std::function<void(const Value&)>& object,
                             ReadMeter& meter) const {
  std::map<std::string_view, const Value*> by_name;
  for (std::size_t i = 0; i < tensors_.size(); ++i) by_name.emplace(tensors_[i].name, &tensors[i]);
  const Value described = json_.empty()
                              ? Value()
                              : from_json(
                                    json_, [&](std::string_view name) { return *by_name.at(name); },
                                    object, do_not_fit, meter);
  const auto with = [&](const Value& attributes) {
    if (own_attributes.is_none()) return attributes;
    std::vector<Value::Entry> all(own_attributes.entries().begin(), own_attributes.entries().end());
    if (!attributes.is_none())
      all.insert(all.end(), attributes.entries().begin(), attributes.entries().end());
    return Value::dict(std::move(all));
  };
  if (!flat_) {
    if (described.kind() != Value::Kind::dict || own_attributes.is_none()) return described;
    return Value::ordered_dict({described.entries().begin(), described.entries().end()},
                               with(described.attributes()));
  }
  std::vector<Value::Entry> entries;
  entries.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    entries.emplace_back(Value(tensors_[i].name), tensors[i]);
  return ordered_ ? Value::ordered_dict(std::move(entries), with(described))
                  : Value::dict(std::move(entries), with(described));
}

}  // namespace tenon
