// Opens a checkpoint of any format, which its bytes tell.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/formats/document.h"

namespace tenon {

// A checkpoint that is one file. FormatError says what other kind of file it is.
std::unique_ptr<Document> open_document(std::shared_ptr<const Source> source,
                                        const DocumentOptions& options);
// The same of a path, and a checkpoint of several files, and a folder with one of the usual names
// in it.
std::unique_ptr<Document> open_path(const std::string& path, const DocumentOptions& options);

// The names that a checkpoint may have in a folder that is named in its place. The first that is
// there is opened.
std::vector<std::string_view> names_in_folder();

}  // namespace tenon
