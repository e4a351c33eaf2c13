// What is read of a folder that is named in place of a file.
#pragma once

#include <string_view>

namespace tenon {

// The first of these that is there: the order of transformers, so that a folder with several of
// them is the same checkpoint for both.
inline constexpr std::string_view kFolderNames[] = {
    "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
    "pytorch_model.bin.index.json"};

}  // namespace tenon
