// Which kind of file it is, by its bytes.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"
#include "io/formats/document.h"
#include "io/formats/tar_header.h"
#include "tenon/error.h"

namespace tenon {

Document::~Document() = default;
std::vector<StorageRecord> Document::stretches() const {
  StorageRecord all;
  all.source = source_.get();
  all.key = "the file";
  all.nbytes = all.stored = source_->size();
  return {all};
}
Builder::~Builder() = default;

namespace {

struct Other {
  std::string_view begins;
  std::string_view what;
};

// Files that people mistake for checkpoints, and what to do about it.
constexpr Other kOthers[] = {
    {"version https://git-lfs", "a git-lfs pointer and not the file itself: run `git lfs pull`"},
    {"<!DOCTYPE",
     "an HTML page, probably of the site it was downloaded from: download the file itself"},
    {"<!doctype",
     "an HTML page, probably of the site it was downloaded from: download the file itself"},
    {"<html",
     "an HTML page, probably of the site it was downloaded from: download the file itself"},
    {"<?xml", "an XML document, probably an error message of the server it was downloaded from"},
    {"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"},
    {"Rar!\x1a\x07", "a RAR archive: unpack it first"},
    {"\x1f\x8b", "a gzip file: unpack it first"},
    {"BZh", "a bzip2 file: unpack it first"},
    {"\xfd"
     "7zXZ",
     "an xz file: unpack it first"},
    {"\x28\xb5\x2f\xfd", "a zstd file: unpack it first"},
    {"GGUF", "a GGUF file of llama.cpp, which is another format"},
    {"\x89HDF\r\n\x1a\n", "an HDF5 file, probably of Keras"},
    {"\x93NUMPY", "a NumPy array: save it as safetensors in Python"},
    {"PK\x05\x06", "an empty zip archive"},
    {"\x7f"
     "ELF",
     "a program"},
    {"%PDF", "a PDF document"},
    {"\xff\xd8\xff", "a JPEG image"},
    {"\x89PNG", "a PNG image"},
    {"SQLite format 3", "an SQLite database"},
};

}  // namespace

std::string no_index(std::string_view why) {
  return concat("a text, and neither a checkpoint nor the index of one: ", why);
}

std::unique_ptr<Document> open_document(std::shared_ptr<const Source> source,
                                        const DocumentOptions& options) {
  const auto refuse = [&](const std::string& what) { throw FormatError(source->name(), 0, what); };
  if (source->size() == 0) refuse("an empty file");
  std::array<char, kTarBlock> head{};
  const auto length =
      static_cast<std::size_t>(std::min<std::uint64_t>(source->size(), head.size()));
  source->read_at(0, std::as_writable_bytes(std::span(head.data(), length)));
  const std::string_view text(head.data(), length);

  const bool is_zip = text.starts_with("PK\x03\x04"), safe = begins_as_safetensors(*source);
  if (is_zip && safe) refuse("a zip archive and safetensors at once, two checkpoints in one file");
  if (is_zip) return open_pth(source, options);
  // See Note [Tar archives].
  if (begins_as_tar(text) || (!safe && length >= 262 && text.substr(257, 5) == "ustar")) {
    refuse(
        "the tar format of PyTorch before 0.1.10 (2016): load it with torch 1.13 or older and save "
        "it again");
  }
  if (safe) return open_safetensors(source, options);
  for (const Other& other : kOthers) {
    if (text.starts_with(other.begins)) refuse(std::string(other.what));
  }
  if (text.starts_with('\x80')) return open_legacy(source, options);
  if (text.starts_with('{')) {
    refuse(
        "a text that begins with a brace: if it is the index of a checkpoint, open it by its path, "
        "as its files are beside it");
  }
  if (text.starts_with('['))
    refuse(no_index("it begins with a bracket, and an index with a brace"));
  if (length >= 9 && head[8] == '{')
    refuse("a safetensors file that is cut short: its header is longer than the file");
  if (length < 9 && length >= 1 && text.find_first_not_of('\0') == text.npos)
    refuse("nothing but zeros");
  refuse("no checkpoint of any kind that is known: neither PyTorch's nor safetensors");
  __builtin_unreachable();
}

}  // namespace tenon
