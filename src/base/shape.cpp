#include "tenon/shape.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

void Dims::too_large(std::uint64_t value) {
  throw ValueError(concat("a size of ", value, " is more than 2^63 - 1"));
}

Dims Dims::filled(std::size_t n, std::int64_t value) {
  Dims dims;
  if (n > kInline) dims.heap_ = new std::int64_t[n];
  dims.size_ = n;
  std::fill(dims.begin(), dims.end(), value);
  return dims;
}

void Dims::assign(std::span<const std::int64_t> values) {
  // Before anything is given up: a list that does not fit leaves this one as it was.
  std::int64_t* fresh = values.size() > kInline ? new std::int64_t[values.size()] : nullptr;
  if (size_ > kInline) delete[] heap_;
  size_ = values.size();
  if (fresh != nullptr) heap_ = fresh;
  std::copy(values.begin(), values.end(), data());
}

void Dims::resize_on_heap(std::size_t n) {
  Dims fresh = filled(n, 0);
  std::copy_n(begin(), std::min(n, size_), fresh.begin());
  *this = std::move(fresh);
}

void Dims::insert(std::size_t at, std::int64_t value) {
  const std::size_t grown = size_ + 1;
  if (grown <= kInline) {
    std::copy_backward(data() + at, data() + size_, data() + grown);
    inline_[at] = value;
  } else {
    auto* fresh = new std::int64_t[grown];
    const std::int64_t* old = data();
    std::copy(old, old + at, fresh);
    fresh[at] = value;
    std::copy(old + at, old + size_, fresh + at + 1);
    if (size_ > kInline) delete[] heap_;
    heap_ = fresh;
  }
  size_ = grown;
}

void Dims::erase(std::size_t at) noexcept {
  std::int64_t* values = data();
  std::copy(values + at + 1, values + size_, values + at);
  if (size_ == kInline + 1) {
    std::int64_t* heap = heap_;
    for (std::size_t i = 0; i < kInline; ++i) inline_[i] = heap[i];
    delete[] heap;
  }
  --size_;
}

std::string Dims::repr() const {
  std::string text = bracketed(*this);
  text.front() = '(';
  text.back() = ')';
  if (size_ == 1) text.insert(text.size() - 1, 1, ',');
  return text;
}

std::string Shape::repr() const { return concat("torch.Size(", bracketed(*this), ")"); }

std::ostream& operator<<(std::ostream& out, const Dims& dims) { return out << dims.repr(); }
std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.repr(); }

}  // namespace tenon
