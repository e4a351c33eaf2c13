// Builds a document with its data: mapped, or read.
#pragma once

#include <unordered_map>

#include "io/formats/document.h"
#include "tenon/checkpoint.h"

namespace tenon {

class Survey;

// Storages that stay in their files while the tensors over them are made, by their identities.
struct StorageInFile {
  Storage storage;  // keeps the identity
  StorageRecord record;
};
using LeftInFile = std::unordered_map<const void*, StorageInFile>;

// What the options ask for, charged to the meter. The survey is of the same document; without one
// it is made if needed. With `left`, no data is read: tensors are on meta, over the storages noted
// there.
Value load_document(const Document& document, const Survey* survey, const LoadOptions& options,
                    ReadMeter& meter, LeftInFile* left = nullptr);

}  // namespace tenon
