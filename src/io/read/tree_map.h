// Trees of values with other tensors in them.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "io/support/read_meter.h"
#include "tenon/detail/api.h"
#include "tenon/value.h"

namespace tenon {

// A dict of the same kind with other entries.
inline Value dict_like(const Value& dict, std::vector<Value::Entry> entries, Value attributes) {
  return dict.is_ordered_dict() ? Value::ordered_dict(std::move(entries), std::move(attributes))
                                : Value::dict(std::move(entries), std::move(attributes));
}

// The tree with what `replace` gives in the place of each tensor, called once for each. What is the
// same object in several places stays one, and what has not changed stays the object it was.
// Charged to the meter, but for what `replace` makes.
Value mapped_tensors(const Value& tree, const std::function<Value(const Tensor&)>& replace,
                     ReadMeter& meter);

// The same for dicts: `replace` is asked for each, with what is inside it replaced already, and
// gives it back if it stays.
TENON_API Value mapped_dicts(const Value& tree, const std::function<Value(const Value&)>& replace);

// Calls it with every tensor of the tree, once each, also with those in attributes of dicts.
void for_each_tensor(const Value& tree, const std::function<void(const Tensor&)>& visit,
                     ReadMeter& meter);

// How many values are in the tree, those that are the same object counted once. Long text counts as
// several.
std::size_t count_values(const Value& tree);

}  // namespace tenon
