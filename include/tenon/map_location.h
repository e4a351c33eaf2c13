// MapLocation: where the tensors of a checkpoint go, by the device they were saved from.
//
//   load(file, {.map_location = "cpu"});                          // all of them
//   load(file, {.map_location = {{"cuda:0", "cpu"}}});            // those that were there
//   load(file, {.map_location = [](std::string_view device) -> std::optional<Device> { ... }});
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/detail/api.h"
#include "tenon/device.h"

namespace tenon {

class TENON_API MapLocation {
 public:
  // Everything stays where it was.
  MapLocation() = default;
  template <class D>
    requires std::same_as<D, Device> || std::convertible_to<const D&, std::string_view>
  MapLocation(const D& device)
      : choose_([to = Device(device)](std::string_view) { return std::optional<Device>(to); }) {}
  // What is not in the map stays where it was.
  template <std::same_as<std::map<std::string, Device, std::less<>>> Devices>
  MapLocation(Devices devices)
      : choose_([map = std::move(devices)](std::string_view tag) -> std::optional<Device> {
          const auto found = map.find(tag);
          if (found == map.end()) return std::nullopt;
          return found->second;
        }) {}
  // {{"cuda:0", "cpu"}, {"cuda:1", "cpu"}}, up to eight; for more, a std::map<std::string, Device,
  // std::less<>>. Note [Braces with names].
  struct Entry {
    std::string_view from;
    Device to;
  };
  MapLocation(const Entry& a, const Entry& b = {}, const Entry& c = {}, const Entry& d = {},
              const Entry& e = {}, const Entry& f = {}, const Entry& g = {}, const Entry& h = {})
      : MapLocation(map_of({&a, &b, &c, &d, &e, &f, &g, &h})) {}
  // Called with the device of every storage that is loaded, in the order tensors use them; nothing:
  // it stays.
  template <class F>
    requires std::is_invocable_r_v<std::optional<Device>, F&, std::string_view> &&
             (!std::same_as<std::remove_cvref_t<F>, MapLocation>)
  MapLocation(F choose) : choose_(std::move(choose)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(choose_); }
  std::optional<Device> operator()(std::string_view device) const {
    return choose_ ? choose_(device) : std::nullopt;
  }

 private:
  // Of those that are given.
  static std::map<std::string, Device, std::less<>> map_of(
      std::initializer_list<const Entry*> entries) {
    std::map<std::string, Device, std::less<>> devices;
    for (const Entry* entry : entries) {
      if (entry->from.data() != nullptr) devices.emplace(entry->from, entry->to);
    }
    return devices;
  }

  std::function<std::optional<Device>(std::string_view)> choose_;
};

}  // namespace tenon
