#include "io/plain_key.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "core/value_depth.h"
#include "io/pickle.h"
#include "tenon/error.h"

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

[[noreturn]] void not_read(std::string_view what, const Value& value) {
  throw ValueError(concat("save: ", what, " that is ", value.type_name(),
                          " is not read again: use text, bytes, integers, None, dtypes, floats "
                          "below 2^63 or tuples of these"));
}

bool is_same_item(const Value& a, const Value& b, ReadMeter& meter);

// Whatever the order of their items is.
bool is_same_set(const Value& a, const Value& b, ReadMeter& meter) {
  const auto in_b = [&](const Value& item) {
    return std::any_of(b.items().begin(), b.items().end(),
                       [&](const Value& other) { return is_same_item(item, other, meter); });
  };
  return a.items().size() == b.items().size() &&
         std::all_of(a.items().begin(), a.items().end(), in_b);
}

bool is_same_item(const Value& a, const Value& b, ReadMeter& meter) {
  meter.work(32);
  if (a.kind() == Kind::set && b.kind() == Kind::set) return is_same_set(a, b, meter);
  if (is_other_item(a.kind()) || is_other_item(b.kind())) return a.identity() == b.identity();
  return Value::dict({{a, {}}, {b, {}}}).entries().size() == 1;
}

}  // namespace

bool charge_key(const Value& key, ReadMeter& meter) { return charge(key, meter, 0); }

void check_written_key(const Value& key, ReadMeter& meter) {
  if (key.kind() == Kind::string) return;
  if (!charge_key(key, meter)) not_read("a key of a dict", key);
}

void check_written_item(const Value& item, ReadMeter& meter) {
  if (!is_other_item(item.kind()) && !charge_item(item, meter)) not_read("an item of a set", item);
}

void check_written_integer(std::string_view bytes) {
  if (bytes.size() <= kLongestInteger) return;
  throw ValueError(concat("save: an integer of ", bytes.size(), " bytes, and more than ",
                          kLongestInteger, " are not read again"));
}

std::vector<Value> unique_items(std::vector<Value> items, ReadMeter& meter) {
  const std::uint64_t passing = items.size() * (2 * sizeof(Value::Entry) + ReadMeter::kObject);
  meter.memory(passing);
  std::vector<Value::Entry> plain;
  plain.reserve(items.size());
  for (const Value& item : items) {
    if (is_other_item(item.kind())) continue;
    if (!charge_item(item, meter)) {
      throw FormatError(meter.file(), 0,
                        concat("an item of a set that is no plain value, but ", item.type_name()));
    }
    plain.emplace_back(item, Value());
  }
  // A dict keeps the first of keys that are the same, in their order.
  const Value unique = Value::dict(std::move(plain));
  auto next = unique.entries().begin();
  std::vector<Value> sets;     // those that are kept
  std::set<const void*> seen;  // identities of the others
  std::vector<Value> out;
  out.reserve(items.size());
  for (Value& item : items) {
    meter.work(4);
    if (item.kind() == Kind::set) {
      const auto is_known = [&](const Value& known) { return is_same_set(known, item, meter); };
      if (std::any_of(sets.begin(), sets.end(), is_known)) continue;
      sets.push_back(item);
      out.push_back(std::move(item));
    } else if (is_other_item(item.kind())) {
      if (seen.insert(item.identity()).second) out.push_back(std::move(item));
    } else if (next != unique.entries().end() && next->first == item) {
      out.push_back(std::move(item));
      ++next;
    }
  }
  meter.release(passing);
  return out;
}

}  // namespace tenon
