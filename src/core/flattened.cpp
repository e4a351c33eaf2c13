#include "tenon/extend/flattened.h"

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// Functions are shared: what somebody has put into one is neither copied nor destroyed under the
// lock, which that may want itself.
struct Registry {
  std::shared_mutex mutex;
  std::map<std::string, std::shared_ptr<const Unflatten>, std::less<>> functions;
};

// Never destroyed: when the process ends, the destructor of a function may ask for it. Nor does it
// take memory, which has_any_unflatten() could not say is missing.
Registry& registry() {
  static union Kept {
    Kept() noexcept : registry() {}
    ~Kept() {}
    Registry registry;
  } kept;
  return kept.registry;
}

}  // namespace

void register_unflatten(const std::string& type_name, Unflatten unflatten) {
  Registry& known = registry();
  const auto function = std::make_shared<const Unflatten>(std::move(unflatten));
  const std::unique_lock lock(known.mutex);
  if (!known.functions.emplace(type_name, function).second) {
    throw ValueError(
        concat("there is a user-defined tensor registered as '", type_name, "' already"));
  }
}

Tensor unflatten(const std::string& type_name, const Flattened& parts, const Layout& like) {
  std::shared_ptr<const Unflatten> function;
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
  return (*function)(parts, like);
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
