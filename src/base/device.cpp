#include "tenon/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <memory>
#include <mutex>
#include <ostream>

#include "base/device_names.h"
#include "base/text.h"
#include "base/thread_state.h"
#include "tenon/error.h"

namespace tenon {

namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(DeviceType::registered)>
    kTypeNames = {"cpu",    "cuda", "ipu",  "xpu",  "mkldnn", "opengl",       "opencl",
                  "ideep",  "hip",  "ve",   "fpga", "maia",   "xla",          "lazy",
                  "vulkan", "mps",  "meta", "hpu",  "mtia",   "privateuseone"};
constexpr int kBuiltIn = static_cast<int>(DeviceType::registered);

// Names are added and never removed or changed, so a name once published may be read without the
// lock.
struct RegisteredNames {
  std::mutex mutex;
  std::array<std::string, kMaxDeviceTypes - kBuiltIn> names;
  std::atomic<int> count{0};
};

RegisteredNames& registered_names() {
  static RegisteredNames names;
  return names;
}

}  // namespace

std::string_view device_type_name(DeviceType type) noexcept {
  const auto number = static_cast<std::size_t>(type);
  if (number < kTypeNames.size()) return kTypeNames[number];
  return registered_names().names[number - kTypeNames.size()];
}

std::optional<DeviceType> device_type_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kTypeNames.size(); ++i) {
    if (kTypeNames[i] == name) return static_cast<DeviceType>(i);
  }
  const RegisteredNames& registered = registered_names();
  const int count = registered.count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (registered.names[static_cast<std::size_t>(i)] == name)
      return static_cast<DeviceType>(kBuiltIn + i);
  }
  return std::nullopt;
}

DeviceType register_device_type(std::string name) {
  const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!is_name)
    throw ValueError(
        concat("a device type is named with letters, digits and '_', not '", name, "'"));
  RegisteredNames& registered = registered_names();
  const std::lock_guard lock(registered.mutex);
  if (device_type_from_name(name))
    throw ValueError(concat("there is a device type '", name, "' already"));
  const int at = registered.count.load(std::memory_order_relaxed);
  if (at == static_cast<int>(registered.names.size())) {
    throw Error(concat("all ", at, " numbers for device types from outside the library are taken"));
  }
  registered.names[static_cast<std::size_t>(at)] = std::move(name);
  registered.count.store(at + 1, std::memory_order_release);
  return static_cast<DeviceType>(kBuiltIn + at);
}

std::string device_type_names() {
  std::string out;
  const int count = kBuiltIn + registered_names().count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (i != 0) out += ", ";
    out += device_type_name(static_cast<DeviceType>(i));
  }
  return out;
}

void Device::bad_index(DeviceType type, int index) {
  throw DeviceError(concat("a device of type ", Device(type).str(), " has the index ", index,
                           ": indices are 0 to 32767"));
}

Device::Device(std::string_view text) {
  if (text.empty()) throw DeviceError("Device string must not be empty");
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const auto word_end =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_word) - text.begin());
  const std::string_view name = text.substr(0, word_end);
  std::string_view rest = text.substr(word_end);
  if (!rest.empty()) {
    const auto invalid = [&] { return DeviceError(concat("Invalid device string: '", text, "'")); };
    if (rest.front() != ':') throw invalid();
    rest.remove_prefix(1);
    const bool digits = !rest.empty() && std::all_of(rest.begin(), rest.end(),
                                                     [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || (rest.size() > 1 && rest.front() == '0')) throw invalid();
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index_);
    if (error != std::errc()) {
      throw DeviceError(
          concat("Could not parse device index '", rest, "' in device string '", text, "'"));
    }
  }
  const std::optional<DeviceType> type = device_type_from_name(name);
  if (!type) {
    throw DeviceError(concat("Expected one of ", device_type_names(),
                             " device type at start of device string: ", text));
  }
  type_ = *type;
}

std::string Device::str() const {
  std::string text(device_type_name(type_));
  if (has_index()) text += concat(":", index_);
  return text;
}

std::string Device::repr() const {
  std::string text = concat("device(type='", device_type_name(type_), "'");
  if (has_index()) text += concat(", index=", index_);
  return text += ')';
}

std::ostream& operator<<(std::ostream& out, Device device) { return out << device.str(); }

Device get_default_device() noexcept {
  const ThreadState& state = thread_state();
  if (state.scope_device) return *state.scope_device;
  return state.default_device.value_or(Device::cpu());
}

void set_default_device(std::optional<Device> device) { thread_state().default_device = device; }

DeviceScope::DeviceScope(Device device) : device_(device), saved_(thread_state().scope_device) {
  thread_state().scope_device = device;
}

DeviceScope::~DeviceScope() { thread_state().scope_device = saved_; }

}  // namespace tenon
