#include "io/write/outputs.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

namespace {

std::string named(int descriptor) { return concat("descriptor ", descriptor); }

}  // namespace

void MemoryOutput::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  if (!bytes.empty()) std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
}

DescriptorOutput::DescriptorOutput(FileSystem& system, int descriptor)
    : system_(system), descriptor_(descriptor), start_(::lseek(descriptor, 0, SEEK_CUR)) {
  if (start_ < 0 && errno != ESPIPE) throw IoError("cannot write to", named(descriptor), errno);
  // Whatever the offset, such a file is written at its end, in the order the calls come.
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0 && (flags & O_APPEND) != 0) start_ = -1;
}

void DescriptorOutput::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  if (start_ >= 0) {
    write_fully(system_, descriptor_, bytes, static_cast<std::uint64_t>(start_) + offset,
                named(descriptor_));
    return;
  }
  write_in_order(system_, descriptor_, bytes, offset, named(descriptor_));
}

void DescriptorOutput::finish(std::uint64_t size, bool durable) const {
  if (start_ >= 0 && ::lseek(descriptor_, start_ + static_cast<off_t>(size), SEEK_SET) < 0)
    throw IoError("cannot go to the end of", named(descriptor_), errno);
  // Pipes and the like have nothing to wait for.
  if (durable && system_.fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS)
    throw IoError("cannot write to the disk", named(descriptor_), errno);
}

}  // namespace tenon
