// Builds a document with its data: mapped, or read.
#pragma once

#include "io/document.h"
#include "tenon/checkpoint.h"

namespace tenon {

class Survey;

// What the options ask for. The survey is of the same document; without one it is made if needed.
Value load_document(const Document& document, const Survey* survey, const LoadOptions& options);

}  // namespace tenon
