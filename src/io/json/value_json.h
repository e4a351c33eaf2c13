// Values as JSON that loses nothing, for what safetensors files say beside their tensors.
//
// Note [Values in JSON]
// null, true, 1, 1.0 (a real has a point or an exponent), "text" and [lists] are themselves. The
// rest is an object with one key that says what it is: {"tuple": [...]}, {"set": [...]}, {"dict":
// [[key, value], ...]}, {"ordered_dict": ...}, {"bytes": "6869"}, {"int": "ff00"} (two's
// complement, lowest byte first), {"float": "nan"}, {"complex": [re, im]}, {"dtype": "float32"},
// {"device": "cpu"}, {"size": [2, 3]}, {"tensor": "name"}, {"object": [name, arguments, state,
// items]}. A dict with attributes has them under a second key, "attributes".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "io/support/metered_text.h"
#include "io/support/read_meter.h"
#include "tenon/value.h"

namespace tenon {

// How deep JSON of values can be: a dict in a dict is three levels further in.
inline constexpr std::size_t kJsonDepth = 3 * 1000 + 16;

// Text with its quotes. ValueError if it is not UTF-8.
void append_json_text(MeteredText& out, std::string_view text);
std::string json_text(std::string_view text);
std::string json_numbers(const Dims& dims);

// Tensors are what `tensor` appends. ValueError beyond a thousand levels, for text that is not
// UTF-8, for keys that are not read again, and beyond 32 million bytes: what is shared is written
// out in every place. Charged to the meter.
using TensorText = std::function<void(MeteredText& out, const Tensor& tensor)>;
void append_json(MeteredText& out, const Value& value, const TensorText& tensor, ReadMeter& meter);

// What simdjson takes for each byte that it reads.
inline constexpr std::uint64_t kJsonCost = 16;

// The value, charged to the meter; `tensor` gives the tensors by their names, `object` is told of
// tensors that are made of several. `refuse` throws, and is called with the reason for anything
// that is not such JSON.
Value from_json(std::string_view json, const std::function<Value(std::string_view)>& tensor,
                const std::function<void(const Value&)>& object,
                const std::function<void(const std::string&)>& refuse, ReadMeter& meter);

}  // namespace tenon
