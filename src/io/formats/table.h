// The table of formats. See Note [Adding a format].
#pragma once

#include "io/formats/format.h"
#include "io/formats/format_writer.h"

namespace tenon {

// Rows, each at the end of the source that reads the format.
extern const Format kIndexFormat, kSafetensorsFormat, kPthFormat, kLegacyFormat;
// Writers, each in a source of its own.
extern const FormatWriter kSafetensorsWriter, kPthWriter;

// Where several rows answer, the first does. In a folder the order is that of transformers, so that
// a folder with several checkpoints is the same one for both.
inline constexpr const Format* kFormats[] = {&kIndexFormat, &kSafetensorsFormat, &kPthFormat,
                                             &kLegacyFormat};

// The formats that are written by default: as one file, and as several.
inline constexpr const Format& kUsualFormat = kPthFormat;
inline constexpr const Format& kUsualShards = kSafetensorsFormat;

}  // namespace tenon
