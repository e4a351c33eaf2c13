// What a file of ours may say, spelled out: the judge of everything that is written.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

// Empty, or what an archive says that we never write: a name or an operation outside the lists, a
// call of something else or with another number of arguments, an entry with another name. The lists
// are this file's own. The judge uses nothing of src/io.
std::string wrong_in_archive(std::string_view archive);

// The same of a pickle alone.
std::string wrong_in_pickle(std::string_view program);

}  // namespace tenon
