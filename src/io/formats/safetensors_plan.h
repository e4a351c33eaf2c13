// The safetensors file of a tree of values.
//
// Note [What safetensors files say beside their tensors]
// Names, dtypes and shapes are all the format has. The rest goes into its __metadata__, where other
// readers do not look: under "tenon.tensors" what a tensor is beyond that (that it is a part of
// another one's bytes, that it is a parameter), and under "tenon.values" the tree itself, if it is
// more than a dict of tensors. Texts under "__metadata__" in the attributes of the dict, as reading
// such a file gives them, are written back.
//
// Bytes that several tensors share are written once, where one of the tensors is all of them. The
// header names tensors in the order of the dict; their bytes are ordered by alignment.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "io/pickle/pickler.h"
#include "io/support/metered_text.h"
#include "io/write/file_writer.h"
#include "tenon/storage.h"
#include "tenon/value.h"

namespace tenon {

inline constexpr std::string_view kTensorNotes = "tenon.tensors", kValueNotes = "tenon.values";

// A tensor on its way into a file, and those that lie inside its bytes.
struct NamedTensor {
  std::string name;
  Tensor tensor;
  std::vector<NamedTensor> aliases;
  std::size_t place = 0;  // among all names
  Storage storage;        // which the tensor has then
};

class SafetensorsPlan {
 public:
  // Charged to the meter, which outlives it, as all that it makes. ValueError if a name is taken
  // twice or not to be had, for more bytes than a file or the supply can give, and, if strict, for
  // everything that would be a note.
  SafetensorsPlan(const Value& tree, Supply& supply, bool strict, ReadMeter& meter);

  const std::vector<NamedTensor>& tensors() const noexcept { return tensors_; }
  const std::vector<std::string>& notes() const noexcept { return notes_; }
  // Whether the tree is a dict of tensors, whatever else is noted of it.
  bool is_flat() const noexcept { return flat_; }
  std::uint64_t size_of(const NamedTensor& tensor) const;
  // A file of some of these tensors. What is said of the tree is in the first.
  FilePlan file(std::size_t first, std::size_t count);

 private:
  void name_tensors(const Value& tree);
  void find_aliases();
  void describe(const Value& tree);
  std::uint64_t total_size() const;
  void note(std::string text);
  void note_what_is_lost(const NamedTensor& named);
  std::string facts_of(const NamedTensor& tensor, const NamedTensor& carrier,
                       std::size_t place) const;
  void append_facts(MeteredText& out, std::span<const NamedTensor> chosen) const;
  std::string header(std::span<const NamedTensor> chosen, std::span<const std::uint64_t> starts,
                     bool first) const;

  Supply& supply_;
  ReadMeter& meter_;
  bool strict_, flat_ = true;
  std::vector<NamedTensor> tensors_;
  std::vector<std::string> notes_;
  MeteredText values_;                                         // JSON, or empty
  std::vector<std::pair<std::string, std::string>> metadata_;  // of the dict's own
};

}  // namespace tenon
