#include "io/plain_key.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "core/value_depth.h"
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

}  // namespace

bool charge_key(const Value& key, ReadMeter& meter) { return charge(key, meter, 0); }

void check_written_key(const Value& key) {
  if (key.kind() == Kind::string) return;
  ReadMeter meter("save", {});
  if (charge_key(key, meter)) return;
  throw ValueError(concat("save: a key of a dict that is ", key.type_name(),
                          " is not read again: use text, bytes, integers, None, dtypes, floats "
                          "below 2^63 or tuples of these"));
}

std::vector<Value> unique_items(std::vector<Value> items, ReadMeter& meter) {
  std::vector<Value::Entry> plain;
  std::vector<Value> others;
  std::set<const void*> seen;  // identities of these
  plain.reserve(items.size());
  meter.memory(items.size() * (2 * sizeof(Value::Entry) + ReadMeter::kObject));
  for (Value& item : items) {
    if (is_other_item(item.kind())) {
      meter.work(16);
      if (seen.insert(item.identity()).second) others.push_back(std::move(item));
    } else if (charge_key(item, meter)) {
      plain.emplace_back(std::move(item), Value());
    } else {
      throw FormatError(meter.file(), 0,
                        concat("an item of a set that is no plain value, but ", item.type_name()));
    }
  }
  const Value unique = Value::dict(std::move(plain));
  std::vector<Value> out;
  out.reserve(unique.entries().size() + others.size());
  for (const auto& [item, none] : unique.entries()) out.push_back(item);
  for (Value& item : others) out.push_back(std::move(item));
  return out;
}

}  // namespace tenon
