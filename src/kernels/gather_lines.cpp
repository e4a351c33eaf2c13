#include "kernels/gather_lines.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/element.h"

namespace tenon {

namespace {

std::int64_t grain_for(std::int64_t elements) {
  return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, elements));
}

// Calls line(from, to) with the element numbers where each line of the last dimension begins.
template <class F>
void for_each_line(const LineMap& map, F&& line) {
  const std::size_t dims = map.sizes.size();
  const auto width = static_cast<std::int64_t>(map.from[dims - 1].size()) * map.inner;
  const std::int64_t from_width = map.sizes[dims - 1] * map.inner;
  std::int64_t to = 0;
  const auto walk = [&](auto&& self, std::size_t d, std::int64_t from) -> void {
    if (d + 1 == dims) {
      line(from * from_width, to);
      to += width;
      return;
    }
    for (const std::int64_t at : map.from[d]) self(self, d + 1, from * map.sizes[d] + at);
  };
  walk(walk, 0, 0);
}

}  // namespace

std::int64_t LineMap::from_size() const {
  std::int64_t n = inner;
  for (const std::int64_t size : sizes) n *= size;
  return n;
}
std::int64_t LineMap::to_size() const {
  std::int64_t n = inner;
  for (const auto& list : from) n *= static_cast<std::int64_t>(list.size());
  return n;
}

void gather_lines(const LineMap& map, std::int64_t blocks, const void* from, void* to,
                  std::int64_t itemsize) {
  const std::int64_t from_size = map.from_size(), to_size = map.to_size();
  const std::vector<std::int64_t>& last = map.from.back();
  // Most of a line lies in the smaller block as it does here: one copy.
  std::size_t run = 0, run_length = 0;
  for (std::size_t i = 0; i < last.size();) {
    std::size_t end = i + 1;
    while (end < last.size() && last[end] == last[end - 1] + 1) ++end;
    if (end - i > run_length) {
      run = i;
      run_length = end - i;
    }
    i = end;
  }
  with_element_of(itemsize, [&]<class T>() {
    parallel_for(0, blocks, grain_for(to_size), [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t block = first; block < end; ++block) {
        const T* source = static_cast<const T*>(from) + block * from_size;
        T* target = static_cast<T*>(to) + block * to_size;
        for_each_line(map, [&](std::int64_t from_line, std::int64_t to_line) {
          const T* line = source + from_line;
          T* out = target + to_line;
          const auto move = [&](std::size_t begin, std::size_t stop) {
            for (std::size_t i = begin; i < stop; ++i) {
              for (std::int64_t k = 0; k < map.inner; ++k)
                out[static_cast<std::int64_t>(i) * map.inner + k] = line[last[i] * map.inner + k];
            }
          };
          move(0, run);
          std::memcpy(out + static_cast<std::int64_t>(run) * map.inner,
                      line + last[run] * map.inner,
                      run_length * static_cast<std::size_t>(map.inner) * sizeof(T));
          move(run + run_length, last.size());
        });
      }
    });
  });
}

void add_lines(const LineMap& map, std::int64_t blocks, const void* to, void* from, DType dtype) {
  const std::int64_t from_size = map.from_size(), to_size = map.to_size();
  const std::vector<std::int64_t>& last = map.from.back();
  const auto work = [&]<class T>() {
    parallel_for(0, blocks, grain_for(to_size), [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t block = first; block < end; ++block) {
        const T* source = static_cast<const T*>(to) + block * to_size;
        T* target = static_cast<T*>(from) + block * from_size;
        for_each_line(map, [&](std::int64_t from_line, std::int64_t to_line) {
          for (std::size_t i = 0; i < last.size(); ++i) {
            const T* in = source + to_line + static_cast<std::int64_t>(i) * map.inner;
            T* out = target + from_line + last[i] * map.inner;
            for (std::int64_t k = 0; k < map.inner; ++k) out[k] += in[k];
          }
        });
      }
    });
  };
  if (dtype == float32)
    work.template operator()<float>();
  else
    work.template operator()<double>();
}

}  // namespace tenon
