#include "kernels/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <limits>

#include "base/element_cast.h"
#include "kernels/element.h"

namespace tenon {

namespace {

// Note [Keys]
// Every element is given a whole number without a sign that has the same order: then there is one
// way of sorting for all dtypes, and one that looks at the bytes of the number works. A descending
// order is that of the inverted bits, which leaves equals in theirs.
constexpr std::uint64_t kNanKey = std::numeric_limits<std::uint64_t>::max();

template <class T>
inline constexpr bool kSortable =
    kReal<T> || std::same_as<T, bool> || std::same_as<T, Half> || std::same_as<T, BFloat16>;

template <class T>
constexpr int kKeyBytes = std::same_as<T, Half> || std::same_as<T, BFloat16> ? 4 : sizeof(T);

template <class T>
std::uint64_t key_of(T value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? 1 : 0;
  } else if constexpr (std::unsigned_integral<T>) {
    return value;
  } else if constexpr (std::signed_integral<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<U>(static_cast<U>(value) ^ (U{1} << (sizeof(U) * 8 - 1)));
  } else if constexpr (std::same_as<T, double> || std::same_as<T, float>) {
    using U = std::conditional_t<std::same_as<T, double>, std::uint64_t, std::uint32_t>;
    constexpr U kSign = U{1} << (sizeof(U) * 8 - 1);
    if (value != value) return std::numeric_limits<U>::max();
    const U bits = std::bit_cast<U>(value + T(0));  // makes 0 of -0
    return static_cast<U>((bits & kSign) != 0 ? ~bits : bits | kSign);
  } else {
    return key_of(convert<float>(value));
  }
}

struct Keyed {
  std::uint64_t key;
  std::int64_t place;
  bool operator<(const Keyed& other) const noexcept {
    return key != other.key ? key < other.key : place < other.place;
  }
};

// The lowest byte first: each pass keeps the order of the ones before.
void sort_by_bytes(std::vector<Keyed>& row, std::vector<Keyed>& spare, int bytes) {
  spare.resize(row.size());
  for (int byte = 0; byte < bytes; ++byte) {
    const int shift = byte * 8;
    std::array<std::size_t, 257> start{};
    for (const Keyed& one : row) ++start[((one.key >> shift) & 0xff) + 1];
    if (std::find(start.begin(), start.end(), row.size()) != start.end()) continue;  // all equal
    for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
    for (const Keyed& one : row) spare[start[(one.key >> shift) & 0xff]++] = one;
    row.swap(spare);
  }
}

// Elements from which counting bytes is faster than comparing.
constexpr std::size_t kCounted = 256;

void sort_row(std::vector<Keyed>& row, std::vector<Keyed>& spare, std::size_t k, int bytes) {
  if (k < row.size() / 8) {
    std::partial_sort(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(k), row.end());
  } else if (row.size() < kCounted) {
    std::sort(row.begin(), row.end());
  } else {
    sort_by_bytes(row, spare, bytes);
  }
}

std::byte* place_of(const Operand& operand, std::span<const std::int64_t> shape, std::size_t dim,
                    std::int64_t row) {
  std::int64_t offset = 0;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (d == dim) continue;
    offset += row % shape[d] * operand.strides[d];
    row /= shape[d];
  }
  return operand.data + offset * operand.itemsize;
}

template <class T>
void sort_rows(std::span<const std::int64_t> shape, std::size_t dim, std::int64_t k,
               bool descending, const Operand& in, const Operand& values, const Operand& indices) {
  std::int64_t rows = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) rows *= d == dim ? 1 : shape[d];
  const std::int64_t n = shape[dim];
  if (rows == 0 || n == 0) return;
  const std::int64_t in_step = in.strides[dim] * in.itemsize,
                     value_step = values.strides[dim] * values.itemsize,
                     index_step = indices.strides[dim] * indices.itemsize;
  const std::uint64_t flip = descending ? kNanKey : 0;
  parallel_for(0, rows, std::max<std::int64_t>(1, 4096 / n),
               [&](std::int64_t first, std::int64_t last) {
                 std::vector<Keyed> row(static_cast<std::size_t>(n)), spare;
                 for (std::int64_t r = first; r < last; ++r) {
                   const std::byte* from = place_of(in, shape, dim, r);
                   row.resize(static_cast<std::size_t>(n));
                   for (std::int64_t i = 0; i < n; ++i) {
                     row[static_cast<std::size_t>(i)] = {
                         key_of(load_element<T>(from + i * in_step)) ^ flip, i};
                   }
                   sort_row(row, spare, static_cast<std::size_t>(k), kKeyBytes<T>);
                   std::byte *value = place_of(values, shape, dim, r),
                             *index = place_of(indices, shape, dim, r);
                   for (std::int64_t i = 0; i < k; ++i) {
                     const std::int64_t place = row[static_cast<std::size_t>(i)].place;
                     std::memcpy(value + i * value_step, from + place * in_step, sizeof(T));
                     std::memcpy(index + i * index_step, &place, sizeof place);
                   }
                 }
               });
}

// All keys, and for each row whether it has a NaN.
struct Rows {
  std::int64_t width;
  std::vector<std::uint64_t> keys;
  std::vector<bool> strange;

  std::span<const std::uint64_t> operator[](std::int64_t row) const {
    return std::span(keys).subspan(static_cast<std::size_t>(row * width),
                                   static_cast<std::size_t>(width));
  }
  bool equal(std::int64_t a, std::int64_t b) const {
    return !strange[static_cast<std::size_t>(a)] &&
           std::equal((*this)[a].begin(), (*this)[a].end(), (*this)[b].begin());
  }
};

Rows keys_of(const void* packed, DType dtype, std::int64_t rows, std::int64_t width) {
  Rows out{width, std::vector<std::uint64_t>(static_cast<std::size_t>(rows * width)),
           std::vector<bool>(static_cast<std::size_t>(rows))};
  visit(dtype, [&]<class T>() {
    if constexpr (kSortable<T>) {
      const auto* from = static_cast<const std::byte*>(packed);
      for (std::size_t i = 0; i < out.keys.size(); ++i) {
        const T value = load_element<T>(from + i * sizeof(T));
        out.keys[i] = key_of(value);
        if (value != value) out.strange[i / static_cast<std::size_t>(width)] = true;
      }
    }
  });
  return out;
}

}  // namespace

bool can_sort(DType dtype) {
  return visit(dtype, []<class T>() { return kSortable<T>; });
}

void sort_elements(std::span<const std::int64_t> shape, std::size_t dim, std::int64_t k,
                   bool descending, const Operand& in, DType dtype, const Operand& values,
                   const Operand& indices) {
  visit(dtype, [&]<class T>() {
    if constexpr (kSortable<T>) sort_rows<T>(shape, dim, k, descending, in, values, indices);
  });
}

Groups group_rows(const void* packed, DType dtype, std::int64_t rows, std::int64_t width,
                  bool consecutive) {
  const Rows all = keys_of(packed, dtype, rows, width);
  std::vector<Keyed> order(static_cast<std::size_t>(rows)), spare;
  for (std::int64_t r = 0; r < rows; ++r)
    order[static_cast<std::size_t>(r)] = {width == 1 ? all.keys[static_cast<std::size_t>(r)] : 0,
                                          r};
  if (!consecutive) {
    if (width == 1) {
      sort_row(order, spare, order.size(), sizeof(std::uint64_t));
    } else {
      std::sort(order.begin(), order.end(), [&](const Keyed& a, const Keyed& b) {
        const auto x = all[a.place], y = all[b.place];
        if (std::equal(x.begin(), x.end(), y.begin())) return a.place < b.place;
        return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
      });
    }
  }
  Groups groups;
  groups.inverse.resize(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t row = order[i].place;
    if (i == 0 || !all.equal(order[i - 1].place, row)) {
      groups.first.push_back(row);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[static_cast<std::size_t>(row)] =
        static_cast<std::int64_t>(groups.first.size()) - 1;
  }
  return groups;
}

}  // namespace tenon
