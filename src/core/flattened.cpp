#include "tenon/flattened.h"

#include <map>
#include <mutex>
#include <shared_mutex>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

namespace {

struct Registry {
  std::shared_mutex mutex;
  std::map<std::string, Unflatten, std::less<>> functions;
};

Registry& registry() {
  static Registry the_registry;
  return the_registry;
}

}  // namespace

void register_unflatten(const std::string& type_name, Unflatten unflatten) {
  Registry& known = registry();
  const std::unique_lock lock(known.mutex);
  if (!known.functions.emplace(type_name, std::move(unflatten)).second) {
    throw ValueError(
        concat("there is a user-defined tensor registered as '", type_name, "' already"));
  }
}

Tensor unflatten(const std::string& type_name, const Flattened& parts, const Layout& like) {
  Unflatten function;
  {
    Registry& known = registry();
    const std::shared_lock lock(known.mutex);
    const auto found = known.functions.find(type_name);
    if (found == known.functions.end()) {
      throw ValueError(concat("no user-defined tensor is registered as '", type_name,
                              "': call register_unflatten first"));
    }
    function = found->second;
  }
  return function(parts, like);
}

bool has_unflatten(const std::string& type_name) {
  Registry& known = registry();
  const std::shared_lock lock(known.mutex);
  return known.functions.contains(type_name);
}

bool has_any_unflatten() noexcept {
  Registry& known = registry();
  const std::shared_lock lock(known.mutex);
  return !known.functions.empty();
}

}  // namespace tenon
