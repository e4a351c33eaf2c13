// FreeList<T>: the last few hundred objects of one type a thread has freed, kept for the next ones
// it makes. Tensors come and go by the thousand and always in the same two sizes; this is several
// times cheaper than the general allocator.
#pragma once

#include <cstddef>
#include <new>

namespace tenon {

// Sanitizers find a use after free only if freed memory is not handed out again.
#ifdef TENON_SANITIZED
inline constexpr bool kKeepFreed = false;
#else
inline constexpr bool kKeepFreed = true;
#endif

template <class T>
class FreeList {
 public:
  // size is that of T; a derived class, which may be larger, goes to the general allocator.
  static void* allocate(std::size_t size) {
    if (!kKeepFreed || size != sizeof(T)) return ::operator new(size);
    FreeList& list = here();
    if (list.first_ == nullptr) return ::operator new(size);
    Link* link = list.first_;
    list.first_ = link->next;
    --list.count_;
    return link;
  }

  static void release(void* memory, std::size_t size) noexcept {
    if (!kKeepFreed || size != sizeof(T)) return ::operator delete(memory);
    FreeList& list = here();
    if (list.count_ >= kMost || list.closed_) return ::operator delete(memory);
    list.first_ = new (memory) Link{list.first_};
    ++list.count_;
  }

 private:
  struct Link {
    Link* next;
  };
  static constexpr std::size_t kMost = 512;

  constexpr FreeList() noexcept = default;

  // The list itself is never destroyed, so that objects freed late in a thread's end still find it,
  // closed.
  static FreeList& here() {
    constinit thread_local FreeList list;
    thread_local const Closer closer{list};
    return list;
  }
  struct Closer {
    FreeList& list;
    ~Closer() {
      list.closed_ = true;
      while (list.first_ != nullptr) {
        Link* link = list.first_;
        list.first_ = link->next;
        ::operator delete(link);
      }
    }
  };

  Link* first_ = nullptr;
  std::size_t count_ = 0;
  bool closed_ = false;
};

}  // namespace tenon
