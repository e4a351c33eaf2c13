// Looks up rows in the table of formats, for the library and its users.
#include <algorithm>

#include "io/formats/table.h"
#include "tenon/file_format.h"

namespace tenon {

const Format* format_named(std::string_view name) noexcept {
  for (const Format* format : kFormats) {
    if (format->name == name) return format;
  }
  return nullptr;
}

bool has_ending(const Format& format, std::string_view file) noexcept {
  return std::ranges::any_of(format.endings,
                             [&](std::string_view ending) { return file.ends_with(ending); });
}

std::optional<FileFormat> FileFormat::named(std::string_view name) noexcept {
  const Format* const format = format_named(name);
  if (format == nullptr || format->writer == nullptr) return std::nullopt;
  return FileFormat(format->name);
}

std::optional<FileFormat> FileFormat::of_path(std::string_view path) noexcept {
  for (const Format* format : kFormats) {
    if (format->writer != nullptr && has_ending(*format, path)) return FileFormat(format->name);
  }
  return std::nullopt;
}

FileFormat FileFormat::of_shards() noexcept { return FileFormat(kUsualShards.name); }

std::vector<FileFormat> FileFormat::all() {
  std::vector<FileFormat> formats;
  for (const Format* format : kFormats) {
    if (format->writer != nullptr) formats.push_back(FileFormat(format->name));
  }
  std::ranges::sort(formats, {}, &FileFormat::name);
  return formats;
}

std::span<const std::string_view> FileFormat::endings() const noexcept {
  return format_named(name_)->endings;
}

std::string FileFormat::index_name() const {
  const FormatWriter& writer = *format_named(name_)->writer;
  return writer.plan_shards == nullptr ? std::string() : writer.shards.index();
}

}  // namespace tenon
