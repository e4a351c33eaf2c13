// A device whose memory is the host's, and counts as its own.
#pragma once

#include <cstdlib>

#include "tenon/extend.h"
#include "tenon/tenon.h"

namespace tenon {

class HostBackend final : public DeviceBackend {
 public:
  int device_count() const override { return 1; }
  void* allocate(std::size_t nbytes, Device) override { return std::malloc(nbytes); }
  void deallocate(void* data, std::size_t, Device) noexcept override { std::free(data); }
  void copy(const Tensor& dst, const Tensor& src) override { on_host(dst).copy_(on_host(src)); }
  void synchronize(Device) override {}

  // The same bytes as a tensor of the CPU.
  static Tensor on_host(const Tensor& t) {
    if (t.is_cpu()) return t;
    const auto all = static_cast<std::int64_t>(t.storage().nbytes()) / t.element_size();
    return from_blob(t.storage().data(), {all}, {.dtype = t.dtype()})
        .as_strided(t.shape(), t.stride(), t.storage_offset());
  }
};

}  // namespace tenon
