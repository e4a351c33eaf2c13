// Source: the entries that come in, for a module and those in it: the caller's state dict, or a
// copy of a part of it that a hook has edited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/prefetch.h"
#include "core/held_state.h"
#include "core/secret_hash.h"
#include "tenon/extend/body.h"
#include "tenon/state_dict.h"

namespace tenon::nn::detail {

class Source {
 public:
  using Entry = StateDict::Entry;
  static constexpr std::size_t kNone = ~std::size_t{0};

  explicit Source(const HeldState& state)
      : state_(&state), first_(std::to_address(state->begin())), used_(state->size()) {}
  // The entries under a prefix of another source, which belong to this one from now on.
  Source(Source& from, const std::string& prefix);
  Source(const Source&) = delete;

  bool is_copy() const noexcept { return state_ == nullptr; }
  // Whether it was copied for this prefix, so that it may be edited there.
  bool is_for(const std::string& prefix) const noexcept { return is_copy() && prefix_ == prefix; }
  std::size_t size() const noexcept { return used_.size(); }
  const Entry& entry(std::size_t place) const noexcept {
    return first_ != nullptr ? first_[place] : entries_[place];
  }
  const Value* find(std::string_view key) const {
    const std::size_t place = place_of(key);
    return place == kNone ? nullptr : &entry(place).second;
  }

  // The entry of that name, marked as used; null if there is none. A file usually has its entries
  // in the order in which modules ask for them, so the next one is tried before any look-up.
  const Entry* use(std::string_view key) {
    std::size_t place = cursor_;
    if (place >= size() || entry(place).first != key || is_gone(place)) place = place_of(key);
    if (place == kNone) return nullptr;
    used_[place] = true;
    cursor_ = place + 1;
    fetch_next(place);
    return &entry(place);
  }
  // The places of the entries under a prefix, in order.
  std::vector<std::uint32_t> under(std::string_view prefix);
  // Those nobody used.
  std::vector<std::uint32_t> unused() const;

  // Of a copy only.
  void set(std::string_view key, Value value);
  bool erase(std::string_view key);
  bool rename(std::string_view from, std::string_view to);

 private:
  // Of entries that will be asked for soon: the key and the tensor's cell, and then its body.
  void fetch_next(std::size_t place) const noexcept {
    if (place + 8 >= size()) return;
    const Entry& far = entry(place + 8);
    __builtin_prefetch(far.first.data());
    if (far.second.is_tensor()) __builtin_prefetch(far.second.identity());
    const Entry& near = entry(place + 4);
    if (!near.second.is_tensor()) return;
    // The identity of a tensor is its cell.
    const auto* cell = static_cast<const tenon::detail::Cell*>(near.second.identity());
    fetch_ahead(cell->body.get(), sizeof(Body));
  }
  std::size_t place_of(std::string_view key) const;
  bool is_gone(std::size_t place) const noexcept { return is_copy() && gone_[place]; }

  const HeldState* state_ = nullptr;
  const Entry* first_ = nullptr;  // of its entries
  std::string prefix_;
  std::deque<Entry> entries_;  // of a copy, with those that are gone
  std::vector<bool> gone_;
  std::unordered_map<std::string, std::uint32_t, SecretHash, std::equal_to<>> places_;
  std::vector<bool> used_;
  std::size_t cursor_ = 0;
  std::vector<std::uint32_t> sorted_;  // places by key; made when a prefix is asked for
};

}  // namespace tenon::nn::detail
