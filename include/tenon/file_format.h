// The formats that checkpoints are written in.
//
//   save(state, "folder", {.format = FileFormat::safetensors, .shard_size = 5'000'000'000});
//   const std::optional<FileFormat> format = FileFormat::named("safetensors");
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/detail/api.h"

namespace tenon {

// The name of a format that the library can write: a small value, equal to others of its name.
class TENON_API FileFormat {
 public:
  static const FileFormat pth;          // a zip archive, as torch.save of PyTorch 2.14 writes it
  static const FileFormat safetensors;  // names, and tensors packed one behind the other

  // The format of that name; nothing if there is none, or if it is only read.
  static std::optional<FileFormat> named(std::string_view name) noexcept;
  // The format whose files have such names, by their endings: "model.pth" is a pth.
  static std::optional<FileFormat> of_path(std::string_view path) noexcept;
  // The format of a folder of several files, unless another is asked for.
  static FileFormat of_shards() noexcept;
  // Every format that can be written, sorted by name.
  static std::vector<FileFormat> all();

  constexpr std::string_view name() const noexcept { return name_; }
  // How names of its files end: ".pth", ".pt" and ".bin".
  std::span<const std::string_view> endings() const noexcept;
  // The index in a folder of several files, "model.safetensors.index.json"; empty if the format is
  // written as one file only.
  std::string index_name() const;

  friend constexpr bool operator==(FileFormat a, FileFormat b) noexcept {
    return a.name_ == b.name_;
  }

 private:
  explicit constexpr FileFormat(std::string_view name) noexcept : name_(name) {}

  std::string_view name_;  // of a row, or a literal
};

inline constexpr FileFormat FileFormat::pth{"pth"};
inline constexpr FileFormat FileFormat::safetensors{"safetensors"};

}  // namespace tenon
