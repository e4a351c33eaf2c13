// Releases: what loses its last reference while somebody goes through a list, for afterwards.
#pragma once

#include "tenon/detail/api.h"
#include "tenon/extend/ref.h"

namespace tenon {

// Destroying an object may be somebody's code: the deleter of borrowed memory, the destructor of a
// user-defined tensor. Whoever replaces many objects, and has pointers that such code could make
// invalid, collects them. It costs nothing for each of them: they wait as those do that are
// released by another's destructor.
class TENON_API Releases {
 public:
  Releases() : last_(make_ref<Nothing>()) {}
  // Destroys what was collected.
  ~Releases();
  Releases(const Releases&) = delete;
  Releases& operator=(const Releases&) = delete;

  // While there is one, objects that lose their last reference on this thread are collected. Inside
  // of a destructor they wait for the end of that one instead.
  class TENON_API Scope {
   public:
    explicit Scope(Releases& into) noexcept;
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Releases& into_;
    bool collects_;
  };

 private:
  struct Nothing final : RefCounted {};

  const RefCounted* first_ = nullptr;
  Ref<Nothing> last_;  // what it goes with, so that this needs no memory
};

}  // namespace tenon
