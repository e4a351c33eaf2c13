// PageAllocator: memory of a container straight from the system if it is large. What a load notes
// about a hundred thousand tensors comes and goes at once; in the heap it would have the allocator
// join everything that was freed meanwhile.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace tenon {

template <class T>
class PageAllocator {
 public:
  using value_type = T;

  PageAllocator() noexcept = default;
  template <class U>
  PageAllocator(const PageAllocator<U>& /*other*/) noexcept {}

  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kLarge) return static_cast<T*>(::operator new(bytes));
    void* pages =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T*>(pages);
  }
  void deallocate(T* pages, std::size_t count) noexcept {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kLarge) {
      ::operator delete(pages);
    } else {
      ::munmap(pages, bytes);
    }
  }
  friend bool operator==(PageAllocator, PageAllocator) noexcept { return true; }

 private:
  static constexpr std::size_t kLarge = std::size_t{64} << 10;
};

}  // namespace tenon
