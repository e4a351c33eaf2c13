#include "optim/copied_names.h"

#include <algorithm>

#include "base/text.h"
#include "tenon/error.h"
#include "tenon/optim/named_values.h"

namespace tenon::optim {

namespace {

constexpr std::size_t kMost = std::size_t{16} << 20, kFree = 4096;
// A shorter name takes about as much as what refers to it.
constexpr std::size_t kShort = 64;

}  // namespace

void CopiedNames::check() const {
  if (!too_much_) return;
  throw ValueError(concat("names that the state dict uses again and again would take more than ",
                          kMost, " bytes when they are copied"));
}

void CopiedNames::begin(const Value& dict) {
  check();
  again_ = !seen_.insert(dict.identity()).second;
  free_ = kFree;
}

void CopiedNames::add(const Value& name, std::size_t length) {
  std::size_t bytes = 0;
  if (again_) {
    bytes = sizeof(NamedValues::Entry) + length;
  } else if (name.identity() != nullptr) {
    const bool known = !seen_.insert(name.identity()).second;
    // The text of a tuple is made for the copy, however little of it the file has.
    if (length > kShort && (known || name.kind() != Value::Kind::string)) bytes = length;
  }
  const std::size_t free = std::min(bytes, free_);
  free_ -= free;
  bytes_ += bytes - free;
  too_much_ = too_much_ || bytes_ > kMost;
  check();
}

}  // namespace tenon::optim
