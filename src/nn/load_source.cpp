#include "nn/load_source.h"

#include <algorithm>
#include <utility>

namespace tenon::nn::detail {

Source::Source(Source& from, const std::string& prefix) : prefix_(prefix) {
  for (const std::uint32_t place : from.under(prefix)) {
    const auto& [key, value] = from.entry(place);
    set(key, value);
    from.used_[place] = true;
  }
}

std::size_t Source::place_of(std::string_view key) const {
  if (state_ != nullptr) {
    const std::size_t place = (*state_)->index_of(key);
    return place == size() ? kNone : place;
  }
  const auto found = places_.find(key);
  return found == places_.end() ? kNone : found->second;
}

std::vector<std::uint32_t> Source::under(std::string_view prefix) {
  std::vector<std::uint32_t> places;
  if (prefix.empty()) {
    for (std::uint32_t i = 0; i < size(); ++i) {
      if (!is_gone(i)) places.push_back(i);
    }
    return places;
  }
  if (sorted_.empty()) {
    sorted_ = under({});
    std::sort(sorted_.begin(), sorted_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return entry(a).first < entry(b).first; });
  }
  auto at = std::lower_bound(
      sorted_.begin(), sorted_.end(), prefix,
      [&](std::uint32_t place, std::string_view text) { return entry(place).first < text; });
  for (; at != sorted_.end() && entry(*at).first.starts_with(prefix); ++at) places.push_back(*at);
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<std::uint32_t> Source::unused() const {
  std::vector<std::uint32_t> places;
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (!used_[i] && !is_gone(i)) places.push_back(i);
  }
  return places;
}

void Source::set(std::string_view key, Value value) {
  sorted_.clear();
  const auto place = static_cast<std::uint32_t>(entries_.size());
  const auto [found, is_new] = places_.emplace(key, place);
  if (!is_new) {
    entries_[found->second].second = std::move(value);
    return;
  }
  entries_.emplace_back(std::string(key), std::move(value));
  gone_.push_back(false);
  used_.push_back(false);
}

bool Source::erase(std::string_view key) {
  const auto found = places_.find(key);
  if (found == places_.end()) return false;
  gone_[found->second] = true;
  places_.erase(found);
  sorted_.clear();
  return true;
}

bool Source::rename(std::string_view from, std::string_view to) {
  const auto found = places_.find(from);
  if (found == places_.end()) return false;
  if (from == to) return true;
  const std::uint32_t place = found->second;
  places_.erase(found);
  erase(to);
  entries_[place].first = std::string(to);
  places_.emplace(to, place);
  sorted_.clear();
  return true;
}

}  // namespace tenon::nn::detail
