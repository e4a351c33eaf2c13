// What can be a key of a dict or an item of a set in a file: values that Python hashes and compares
// by what they are.
#pragma once

#include <string_view>
#include <vector>

#include "io/support/read_meter.h"
#include "tenon/value.h"

namespace tenon {

// Whether it is None, a number that is equal to itself, text, bytes, a dtype, a device, a
// torch.Size, or a tuple of these. Charged with what hashing, comparing or printing it takes: a
// tuple may share its parts many times over. A float beyond 64 bits is none: Python finds it equal
// to the integer of the same value, which is of another kind here.
bool charge_key(const Value& key, ReadMeter& meter);

// ValueError, for who saves it, if it cannot be a key, or an item of a set: what is written is
// read. Charged in the same way.
void check_written_key(const Value& key, ReadMeter& meter);
void check_written_item(const Value& item, ReadMeter& meter);
// ValueError if it is longer than is read.
void check_written_integer(std::string_view bytes);

// The items of a set, each once, as Python has them: 1, 1.0 and True are one. FormatError for
// lists, dicts and others that cannot be in one.
std::vector<Value> unique_items(std::vector<Value> items, ReadMeter& meter);

}  // namespace tenon
