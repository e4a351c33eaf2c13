// What our safetensors files say beside their tensors, read back. See Note [What safetensors files
// say beside their tensors].
//
// Other programs copy these texts along when they change a file. Notes that do not fit the tensors
// that are there say nothing, and the file is what anybody else would see in it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/read/records.h"
#include "io/support/read_meter.h"
#include "tenon/value.h"

namespace tenon {

// A tensor of the file, as it is written there.
struct StoredTensor {
  std::string_view name;
  const TensorRecord* record;
  std::uint64_t bytes;
};

class SafetensorsNotes {
 public:
  // A tensor of the tree, in the bytes of one of the file's.
  struct Known {
    std::string name;
    std::uint32_t stored;  // the number of that one
    TensorRecord record;
    std::int64_t same = -1;  // the same tensor as that with this number, if any
  };

  // `tensors` and `values` are JSON, or empty. Nothing if they do not fit.
  static std::optional<SafetensorsNotes> read(std::span<const StoredTensor> stored,
                                              std::string_view tensors, std::string_view values,
                                              ReadMeter& meter);

  // All of them, in the order of the dict; one that is the same as another comes behind it.
  const std::vector<Known>& tensors() const noexcept { return tensors_; }
  // Whether "format" in the metadata is only there for other readers.
  bool added_format() const noexcept { return added_format_; }
  // The tree, made of these tensors, without the attributes the format has itself.
  // `object` is told of tensors that are made of several.
  Value tree(std::span<const Value> tensors, const Value& own_attributes,
             const std::function<void(const Value&)>& object, ReadMeter& meter) const;

 private:
  bool add_tensors(std::span<const StoredTensor> stored, std::string_view json, ReadMeter& meter);
  bool read_fields(std::string_view json);
  bool read_values(std::string_view json, ReadMeter& meter);

  std::vector<Known> tensors_;
  bool flat_ = true, ordered_ = false, added_format_ = false;
  std::string json_;  // of the attributes, or of the tree
};

}  // namespace tenon
