#include "io/pickle/plain_key.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/hash_index.h"
#include "base/text.h"
#include "core/secret_hash.h"
#include "core/uninitialized.h"
#include "core/value_depth.h"
#include "io/pickle/composites.h"
#include "io/pickle/pickle.h"
#include "io/pickle/rebuild.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"

namespace tenon {

namespace {

using Kind = Value::Kind;

bool is_plain_real(double value) {
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  return std::isinf(value) || std::abs(value) < kBeyond;
}

bool charge(const Value& key, ReadMeter& meter, int depth) {
  // Hashed, and compared with a few others.
  meter.work(4);
  switch (key.kind()) {
    case Kind::none:
    case Kind::boolean:
    case Kind::integer:
    case Kind::dtype:
    case Kind::device: return true;
    case Kind::real: return is_plain_real(key.as_real());
    case Kind::string: meter.work(key.as_string().size() / 2); return true;
    case Kind::bytes: meter.work(key.as_bytes().size()); return true;
    case Kind::big_integer:
      meter.work(key.big_bytes().size() * key.big_bytes().size());
      return true;
    case Kind::size: meter.work(key.as_size().size() * 4); return true;
    case Kind::tuple:
      if (depth > kMaxDepth) return false;
      return std::all_of(key.items().begin(), key.items().end(),
                         [&](const Value& part) { return charge(part, meter, depth + 1); });
    default: return false;
  }
}

// What Python tells apart by identity, or what stands for something that is unknown here.
bool is_other_item(Kind kind) {
  return kind == Kind::tensor || kind == Kind::set || kind == Kind::object;
}

// What can be in a set beside these: complex numbers, too.
bool charge_item(const Value& item, ReadMeter& meter) {
  if (item.kind() != Kind::complex) return charge(item, meter, 0);
  meter.work(4);
  return is_plain_real(item.as_complex().real()) && is_plain_real(item.as_complex().imag());
}

// A Counter, or a user-defined tensor, which is written as the dict of its parts.
bool is_read_as_dict(const Value& item) {
  if (item.kind() == Kind::object) return item.object_name() == kCounterName;
  if (!item.is_tensor()) return false;
  const Body& body = item.as_tensor().body();
  return body.is_wrapper() && !is_uninitialized(body);
}

[[noreturn]] void not_read(std::string_view what, const Value& value) {
  throw ValueError(concat("save: ", what, " that is ", value.type_name(),
                          " is not read again: use text, bytes, integers, None, dtypes, floats "
                          "below 2^63 or tuples of these"));
}

// What is there once in Python, whoever asks for it: a layout, or a scheme of quantisation. Its
// name; nothing if it is something else.
std::string_view name_of_constant(const Value& item) {
  if (item.kind() != Kind::object || !item.object_state().is_none()) return {};
  const Value& arguments = item.object_arguments();
  if (arguments.kind() != Kind::tuple || arguments.items().size() > 1) return {};
  if (arguments.items().empty())
    return is_scheme(item.object_name()) ? std::string_view(item.object_name()) : "";
  const bool layout = item.object_name() == kLayoutName;
  return layout && arguments.items()[0].kind() == Kind::string
             ? std::string_view(arguments.items()[0].as_string())
             : "";
}

// Note [Items of sets]
// Items are compared only where their hashes are equal, which are made with secret numbers: with
// equal items, that is. Each pair of them would be compared otherwise, and what a file shares among
// all of them be walked through for each pair. Hashing and comparing are charged for every place
// of what is shared.

// The same for items that are the same, whatever the order of a set's own items is.
std::size_t hash_item(const Value& item, ReadMeter& meter) {
  meter.work(4);
  if (item.kind() == Kind::set) {
    std::size_t all = 0;
    for (const Value& part : item.items()) all += hash_item(part, meter);
    return hash_number(all, item.items().size());
  }
  if (!is_other_item(item.kind())) {
    charge_item(item, meter);
    return hash_key(item);
  }
  if (const std::string_view name = name_of_constant(item); !name.empty()) return hash_text(name);
  return hash_number(reinterpret_cast<std::uintptr_t>(item.identity()), 0);
}

bool is_same_item(const Value& a, const Value& b, ReadMeter& meter);

// The items of a set that were seen, each once.
class SeenItems {
 public:
  SeenItems(std::size_t most, ReadMeter& meter) : passing_(meter), meter_(meter) {
    // The table takes four times as many places, of 16 bytes.
    meter.memory(most * (64 + sizeof(const Value*)) + 4 * ReadMeter::kObject);
    table_.reserve(most);
    items_.reserve(most);
  }

  bool contains(const Value& item) { return find(item, hash_item(item, meter_)); }
  // Whether it is new.
  bool insert(const Value& item) {
    const std::size_t hash = hash_item(item, meter_);
    if (find(item, hash)) return false;
    table_.insert(hash, static_cast<std::uint32_t>(items_.size()));
    items_.push_back(&item);
    return true;
  }

 private:
  bool find(const Value& item, std::size_t hash) const {
    const auto same = [&](std::size_t at) { return is_same_item(*items_[at], item, meter_); };
    return table_.find(hash, same) != HashIndex::kNone;
  }

  PassingCharge passing_;
  ReadMeter& meter_;
  HashIndex table_;
  std::vector<const Value*> items_;
};

// Whatever the order of their items is.
bool is_same_set(const Value& a, const Value& b, ReadMeter& meter) {
  const auto x = a.items(), y = b.items();
  if (x.size() != y.size()) return false;
  if (x.size() == 1) return is_same_item(x[0], y[0], meter);
  SeenItems seen(y.size(), meter);
  for (const Value& item : y) seen.insert(item);
  return std::all_of(x.begin(), x.end(), [&](const Value& item) { return seen.contains(item); });
}

bool is_same_item(const Value& a, const Value& b, ReadMeter& meter) {
  meter.work(4);
  if (a.identity() != nullptr && a.identity() == b.identity()) return true;
  if (a.kind() == Kind::set && b.kind() == Kind::set) return is_same_set(a, b, meter);
  if (is_other_item(a.kind()) || is_other_item(b.kind())) {
    const std::string_view name = name_of_constant(a);
    return !name.empty() && name == name_of_constant(b);
  }
  return charge_item(a, meter) && charge_item(b, meter) && same_key(a, b);
}

}  // namespace

bool charge_key(const Value& key, ReadMeter& meter) { return charge(key, meter, 0); }

void check_written_key(const Value& key, ReadMeter& meter) {
  if (key.kind() == Kind::string) return;
  if (!charge_key(key, meter)) not_read("a key of a dict", key);
}

void check_written_item(const Value& item, ReadMeter& meter) {
  if (is_read_as_dict(item) || (!is_other_item(item.kind()) && !charge_item(item, meter)))
    not_read("an item of a set", item);
}

void check_written_integer(std::string_view bytes) {
  if (bytes.size() <= kLongestInteger) return;
  throw ValueError(concat("save: an integer of ", bytes.size(), " bytes, and more than ",
                          kLongestInteger, " are not read again"));
}

std::vector<Value> unique_items(std::vector<Value> items, ReadMeter& meter) {
  for (const Value& item : items) {
    if (!is_other_item(item.kind()) && !charge_item(item, meter)) {
      throw FormatError(meter.file(), 0,
                        concat("an item of a set that is no plain value, but ", item.type_name()));
    }
  }
  if (items.size() < 2) return items;
  SeenItems seen(items.size(), meter);
  std::vector<bool> wanted(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) wanted[i] = seen.insert(items[i]);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!wanted[i]) continue;
    if (kept != i) items[kept] = std::move(items[i]);
    ++kept;
  }
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(kept), items.end());
  return items;
}

}  // namespace tenon
