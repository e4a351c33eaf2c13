// Loading a part of a checkpoint, and under other names.
#pragma once

#include <functional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "io/document.h"
#include "tenon/checkpoint.h"

namespace tenon {

class Survey;

// Of every tensor the document makes, by its number, whether the options want it.
std::vector<bool> chosen_tensors(const Document& document, const Survey& survey,
                                 const LoadOptions& options, bool& any_uninitialized);
// Tensors without a shape are not among those: the ones of a tree that the filter does not want.
void choose_uninitialized(const Document& document, const Value& tree,
                          const std::function<bool(std::string_view)>& filter,
                          std::unordered_set<std::uint64_t>& dropped);

// What a path leads to. IndexError, naming the keys there are, if it leads nowhere.
const Value& at_path(const Value& tree, const std::string& path, const Document& document);

// The tree without these tensors: entries of dicts are left out, items of lists become None. A
// sparse or quantised tensor goes with any part of it.
Value without(const Value& tree, const std::unordered_set<std::uint64_t>& dropped);

// A state dict with other names. ValueError if it is none, or two entries get one name.
TENON_API Value renamed(const Value& tree, const KeyMap& names);

}  // namespace tenon
