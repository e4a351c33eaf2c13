#include "optim/parameter_name.h"

#include <algorithm>
#include <cstddef>

namespace tenon::optim {

namespace {

// A tuple can have the same parts in many places, and is hashed and compared for every parameter:
// whether there is no more in it than is left.
bool is_short(const Value& value, std::size_t& left) {
  std::size_t size = 1;
  switch (value.kind()) {
    case Value::Kind::list:
    case Value::Kind::set:
    case Value::Kind::dict:
    case Value::Kind::object: return false;
    case Value::Kind::string: size += value.as_string().size(); break;
    case Value::Kind::bytes: size += value.as_bytes().size(); break;
    case Value::Kind::big_integer: size += value.big_bytes().size(); break;
    case Value::Kind::size: size += value.as_size().size(); break;
    case Value::Kind::tuple: size += value.items().size(); break;
    default: break;
  }
  if (size > left) return false;
  left -= size;
  return value.kind() != Value::Kind::tuple ||
         std::all_of(value.items().begin(), value.items().end(),
                     [&](const Value& item) { return is_short(item, left); });
}

}  // namespace

bool is_parameter_name(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::list:
    case Value::Kind::set:
    case Value::Kind::dict:
    case Value::Kind::object: return false;
    case Value::Kind::tuple: {
      std::size_t left = 1000;
      return is_short(value, left);
    }
    default: return true;
  }
}

}  // namespace tenon::optim
