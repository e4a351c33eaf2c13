// Which format a file has, by its bytes.
#include "io/formats/open.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "io/formats/table.h"
#include "io/formats/tar_header.h"
#include "tenon/error.h"

namespace tenon {

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

// The beginning of a file, held.
class Head {
 public:
  explicit Head(const Source& source) {
    beginning_.size = source.size();
    const auto length =
        static_cast<std::size_t>(std::min<std::uint64_t>(source.size(), held_.size()));
    source.read_at(0, std::as_writable_bytes(std::span(held_.data(), length)));
    beginning_.bytes = {held_.data(), length};
  }
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;
  const Beginning& beginning() const noexcept { return beginning_; }

 private:
  std::array<char, kTarBlock> held_{};
  Beginning beginning_;
};

struct Claimed {
  Claim claim = Claim::none;
  const Format* format = nullptr;
  bool is_strong() const noexcept { return claim >= Claim::likely; }
};

// The claims of all formats on a file, the surest first, else in the order of the table.
std::vector<Claimed> claims_on(const Beginning& beginning) {
  std::vector<Claimed> claims;
  for (const Format* format : kFormats) {
    const Claim claim = format->claim(beginning);
    if (claim == Claim::none) continue;
    const auto less_sure = [&](const Claimed& other) { return other.claim < claim; };
    claims.insert(std::ranges::find_if(claims, less_sure), {claim, format});
  }
  return claims;
}

std::unique_ptr<Document> open_with_head(std::shared_ptr<const Source> source,
                                         const Beginning& beginning,
                                         const DocumentOptions& options) {
  const auto refuse = [&](const std::string& what) { throw FormatError(source->name(), 0, what); };
  const std::string_view text = beginning.bytes;
  if (text.empty()) refuse("an empty file");
  const std::vector<Claimed> claims = claims_on(beginning);
  const Claimed first = claims.empty() ? Claimed() : claims.front();
  if (claims.size() > 1 && claims[1].is_strong()) {
    refuse(concat(first.format->noun, " and ", claims[1].format->noun,
                  " at once, two checkpoints in one file"));
  }
  if (first.claim == Claim::certain) return first.format->open(source, options);
  // See Note [Tar archives].
  if (begins_as_tar(text) ||
      (!first.is_strong() && text.size() >= 262 && text.substr(257, 5) == "ustar")) {
    refuse(
        "the tar format of PyTorch before 0.1.10 (2016): load it with torch 1.13 or older and save "
        "it again");
  }
  if (first.claim == Claim::likely) return first.format->open(source, options);
  for (const Other& other : kOthers) {
    if (text.starts_with(other.begins)) refuse(std::string(other.what));
  }
  for (const auto& [claim, format] : claims) {
    if (format->open != nullptr) return format->open(source, options);
  }
  for (const Format* format : kFormats) {
    if (format->near == nullptr) continue;
    if (const std::string why = format->near(beginning); !why.empty()) refuse(why);
  }
  if (text.size() < 9 && text.find_first_not_of('\0') == text.npos) refuse("nothing but zeros");
  refuse("no checkpoint of any kind that is known: neither PyTorch's nor safetensors");
  __builtin_unreachable();
}

// The file in a folder that is meant when the folder is named.
std::string file_in(const std::string& folder) {
  struct stat facts{};
  for (const std::string_view name : names_in_folder()) {
    std::string inside = concat(folder, folder.ends_with('/') ? "" : "/", name);
    if (::stat(inside.c_str(), &facts) == 0) return inside;
  }
  std::string names;
  for (const Format* format : kFormats) {
    if (format->in_folder.empty()) continue;
    names += concat(names.empty() ? "" : " or ", format->in_folder.front());
  }
  throw FormatError(folder, 0,
                    concat("a folder without ", names, ", or their index: name the file"));
}

}  // namespace

std::vector<std::string_view> names_in_folder() {
  std::vector<std::string_view> names;
  for (const Format* format : kFormats)
    names.insert(names.end(), format->in_folder.begin(), format->in_folder.end());
  return names;
}

std::unique_ptr<Document> open_document(std::shared_ptr<const Source> source,
                                        const DocumentOptions& options) {
  const Head head(*source);
  return open_with_head(std::move(source), head.beginning(), options);
}

std::unique_ptr<Document> open_path(const std::string& path, const DocumentOptions& options) {
  std::shared_ptr<Source> source;
  try {
    source = open_file(path);
  } catch (const IoError& error) {
    if (error.error_number() != EISDIR) throw;
    return open_path(file_in(path), options);
  }
  const Head head(*source);
  for (const auto& [claim, format] : claims_on(head.beginning())) {
    // The surest first: one that is surely a file of its own is no index.
    if (claim >= Claim::likely && format->open != nullptr) break;
    if (format->open_beside != nullptr) return format->open_beside(path, options);
  }
  return open_with_head(std::move(source), head.beginning(), options);
}

}  // namespace tenon
