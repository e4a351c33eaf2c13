// A format of checkpoints: one row of data and functions that says all that is particular to it.
//
// Note [Adding a format]
// A format that is read is a source of this folder with its Document and, at the end, its row; the
// row is named in table.h. A format that is written has a second source, with its FormatWriter,
// which is named there too. CMake finds the sources. Opening, saving, converting, indexes and the
// command ask the rows, and know no format by name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/formats/document.h"

namespace tenon {

struct FormatWriter;

// The beginning of a file, by which its format is recognized.
struct Beginning {
  std::string_view bytes;  // the first 512, or all of them
  std::uint64_t size = 0;  // of the file
};

// How sure it is that a file is of a format. Two formats that are likely or certain for one file
// refuse it: it would be two checkpoints.
enum class Claim : std::uint8_t {
  none,
  possible,  // unless it is likely or certain to be of another format, or is a known foreign file
  likely,    // its structure fits; archives of tar are ruled out before
  certain,   // it begins with the signature of the format
};

struct Format {
  std::string_view name;  // "pth": what Document::format() says of most of its files
  std::string_view noun;  // what a file is that is of this and of another format: "a zip archive"
  // How names of its files end.
  std::span<const std::string_view> endings = {};
  // Whether a shard whose name ends so has to be of this format, as other readers go by the name.
  bool endings_bind = false;
  // The names of such a checkpoint in a folder that is named in place of a file. The first existing
  // name of the first row counts.
  std::span<const std::string_view> in_folder = {};

  Claim (*claim)(const Beginning& beginning) = nullptr;
  // Why a file is refused that no format claims and that looks like one of this format; empty if it
  // does not look so.
  std::string (*near)(const Beginning& beginning) = nullptr;
  // One of these opens it: the first from the file alone, the second from a path, as other files of
  // the checkpoint are beside it. FormatError if it is a bad one.
  std::unique_ptr<Document> (*open)(std::shared_ptr<const Source> source,
                                    const DocumentOptions& options) = nullptr;
  std::unique_ptr<Document> (*open_beside)(const std::string& path,
                                           const DocumentOptions& options) = nullptr;

  const FormatWriter* writer = nullptr;  // null: it is only read
};

// The row of that name, or null.
const Format* format_named(std::string_view name) noexcept;
// Whether the name of a file ends as those of the format do.
bool has_ending(const Format& format, std::string_view file) noexcept;

}  // namespace tenon
