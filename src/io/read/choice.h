// Loading a part of a checkpoint, and under other names.
#pragma once

#include <functional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "io/formats/document.h"
#include "tenon/checkpoint.h"

namespace tenon {

class Survey;

// What the options want of the tensors that the document makes, by their numbers.
struct ChosenTensors {
  std::vector<bool> tensors;
  std::vector<bool> uninitialized;  // those without a shape
};
ChosenTensors chosen_tensors(const Document& document, const Survey& survey,
                             const LoadOptions& options, ReadMeter& meter);

// What a path leads to. IndexError, naming the keys there are, if it leads nowhere.
const Value& at_path(const Value& tree, const std::string& path, const Document& document);

// The tree without these tensors: entries of dicts are left out, items of lists become None. A
// sparse or quantised tensor goes with any part of it.
Value without(const Value& tree, const std::unordered_set<std::uint64_t>& dropped,
              ReadMeter& meter);

// A state dict with other names. ValueError if it is none, or two entries get one name. Charged to
// the meter, if there is one.
TENON_API Value renamed(const Value& tree, const KeyMap& names, ReadMeter* meter = nullptr);

}  // namespace tenon
