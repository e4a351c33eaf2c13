// MeteredText: text that grows while something is written. A meter is charged before it does, and
// what it takes is released when it goes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "io/support/read_meter.h"

namespace tenon {

class MeteredText {
 public:
  explicit MeteredText(ReadMeter& meter) noexcept : meter_(meter) {}
  ~MeteredText() {
    if (!text_.empty()) meter_.release(text_.capacity());
  }
  MeteredText(const MeteredText&) = delete;
  MeteredText& operator=(const MeteredText&) = delete;

  MeteredText& operator+=(std::string_view more) {
    make_room(more.size());
    text_ += more;
    return *this;
  }
  MeteredText& operator+=(char more) {
    make_room(1);
    text_ += more;
    return *this;
  }

  std::size_t size() const noexcept { return text_.size(); }
  bool empty() const noexcept { return text_.empty(); }
  std::string_view view() const noexcept { return text_; }
  // The text is the caller's then; what it was charged with stays charged.
  std::string take() noexcept { return std::exchange(text_, {}); }

 private:
  void make_room(std::size_t more) {
    if (text_.capacity() - text_.size() >= more) [[likely]]
      return;
    charge_growth(meter_, text_, more);
    text_.reserve(std::max(2 * text_.capacity(), text_.size() + more));
  }

  ReadMeter& meter_;
  std::string text_;
};

}  // namespace tenon
