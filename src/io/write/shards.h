// A state dict in several files of a folder, and an index of them.
//
// Note [Shards appear together]
// Shards are written under names that are not taken. No index names them before the last one is
// there; then the index is replaced, in one step. What the index before that named is removed at
// last. Whatever happens in between, an index and the files it names belong together. Shards get
// their names only when all of them are written, so that of a process that is killed before only
// temporary files are left, which the next one removes.
//
// The folder is the one that its name led to at first: Note [Writing into a held folder]. Unless
// replacing is allowed, the name is no symbolic link.
#pragma once

#include <string>

#include "io/formats/format.h"
#include "io/write/saver.h"

namespace tenon {

// Named as the row of the format says. ValueError if the format is written as one file only, or
// cannot hold the tree in several.
SaveReport save_shards(FileSystem& system, const Saving& saving, const Value& tree,
                       const Format& format, const std::string& folder, const SaveOptions& options);

}  // namespace tenon
