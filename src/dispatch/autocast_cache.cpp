#include "dispatch/autocast_cache.h"

#include <utility>

#include "core/autograd_meta.h"

namespace tenon {

bool AutocastCache::Source::operator==(const Source& other) const noexcept {
  return body == other.body && storage.is(other.storage) && version == other.version &&
         accumulator == other.accumulator;
}

AutocastCache::Source AutocastCache::source_of(const Tensor& leaf) {
  Source source{leaf.cell()->body, leaf.storage(), leaf.body().version(), {}};
  if (detail::is_recording()) source.accumulator = gradient_edge(leaf).node;
  return source;
}

Tensor AutocastCache::converted(const Tensor& leaf, DType dtype) {
  Source source = source_of(leaf);
  const Body* place = source.body.get();
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(place);
    if (found != entries_.end() && found->second.converted.dtype() == dtype &&
        found->second.source == source)
      return found->second.converted;
  }
  Entry entry{std::move(source), leaf.to(dtype)};
  Tensor result = entry.converted;
  // What is thrown away goes when nobody waits for the lock.
  const std::lock_guard lock(mutex_);
  std::swap(entries_[place], entry);
  return result;
}

void AutocastCache::clear() noexcept {
  std::unordered_map<const Body*, Entry> gone;
  {
    const std::lock_guard lock(mutex_);
    gone.swap(entries_);
  }
}

}  // namespace tenon
