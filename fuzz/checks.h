// What every fuzzer of files does with one, and what must hold. Whatever does not, aborts with a
// line that says so.
#pragma once

#include <cstddef>
#include <span>

namespace tenon {

// The bytes are opened, inert and not, loaded in every way, verified, and every tensor read.
// Nothing throws what is no tenon::Error, nothing takes more than 64 MB and 20 times the bytes.
// What loads is saved in both formats, and converted from file to file, or refused: the files have
// no names but those of the lists in tests/support/written_file.cpp, are opened again, and hold
// what was saved. Converting takes no more than loading, reading again no more than the bytes that
// were written warrant, and saving as many bytes more as a file may have, which are made in memory.
void check_file(std::span<const std::byte> bytes);

}  // namespace tenon
