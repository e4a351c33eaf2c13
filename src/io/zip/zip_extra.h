// The extra fields of a zip entry, of which one matters here.
#pragma once

#include "io/read/byte_reader.h"
#include "io/zip/zip_format.h"

namespace tenon {

// Calls `found` with the zip64 field among the extra fields, if there is one.
template <class Found>
void read_extra(ByteReader extra, Found&& found) {
  bool seen = false;
  while (extra.left() >= 4) {  // less is padding that some writers leave
    const std::uint16_t id = extra.u16(), length = extra.u16();
    const std::uint64_t at = extra.offset();
    if (length > extra.left()) extra.fail("an extra field is longer than all of them together");
    const auto field = extra.bytes(length);
    if (id == zip_format::kUnicodePath) extra.fail_at(at, "an entry with a second name");
    if (id != zip_format::kZip64) continue;
    if (seen) extra.fail_at(at, "two zip64 fields");
    seen = true;
    found(ByteReader(field, at, extra.file()));
  }
}

}  // namespace tenon
