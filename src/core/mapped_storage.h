// A storage that is a slice of a mapped file.
#pragma once

#include <cstddef>

#include "base/mapping.h"
#include "tenon/detail/api.h"
#include "tenon/extend/ref.h"
#include "tenon/storage.h"

namespace tenon {

// The file stays mapped for as long as any slice lives. ValueError if the slice is not inside the
// mapping.
TENON_API Storage mapped_storage(Ref<Mapping> mapping, std::size_t offset, std::size_t nbytes);

namespace detail {
// Whether letting go of it is nobody's code: memory of its own, mapped, or none.
TENON_API bool is_plain_memory(const StorageImpl& storage) noexcept;
}  // namespace detail

}  // namespace tenon
