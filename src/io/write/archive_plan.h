// The zip archive of a checkpoint, laid out as PyTorch 2.14 lays it out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/pickle/pickler.h"
#include "io/write/file_writer.h"

namespace tenon {

// The folder in the archive of a file with that path, as torch.save names it: the last part up to
// its last dot, or "archive" if the path is not ASCII. Also "archive", where torch.save is not
// asked, if that is only dots, longer than 255 bytes, or has control characters or colons: it would
// lead out of the folder the archive is unpacked into, or could not be read back. ValueError if it
// is nothing.
std::string archive_name(const std::string& path);

// ValueError if it has a larger pickle or more entries than are read.
FilePlan plan_archive(const std::string& archive, Pickled pickled, ReadMeter& meter);

}  // namespace tenon
