// InlineVector<T, N>: a vector of trivial elements that allocates only beyond N of them.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace tenon {

template <class T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Room for `most` elements; it does not grow beyond that.
  explicit InlineVector(std::size_t most)
      : heap_(most > N ? std::make_unique<T[]>(most) : nullptr) {}

  T* data() noexcept { return heap_ ? heap_.get() : inline_; }
  const T* data() const noexcept { return heap_ ? heap_.get() : inline_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](std::size_t i) noexcept { return data()[i]; }
  const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }

  void push_back(const T& value) noexcept { data()[size_++] = value; }
  // To fewer, or to more within the room there is; new elements have no particular value.
  void resize(std::size_t size) noexcept { size_ = size; }

 private:
  std::unique_ptr<T[]> heap_;
  T inline_[N];
  std::size_t size_ = 0;
};

}  // namespace tenon
