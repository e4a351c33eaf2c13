#include "kernels/reduce.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cast.h"
#include "kernels/element.h"
#include "kernels/reduce_simd.h"
#include "kernels/reducers.h"

namespace tenon {

namespace {

struct Dim {
  std::int64_t size, in, out;  // strides in bytes
};

// What is to be done, with its dimensions sorted: those that stay and those that go, each fastest
// first, and neighbours that are one stretch joined.
struct Plan {
  std::vector<Dim> kept, gone;
  std::int64_t outputs = 1, elements = 1;  // how many results, of how many elements each
};

void arrange(std::vector<Dim>& dims) {
  // Few, and usually in order: inserted one by one, behind their equals.
  for (std::size_t d = 1; d < dims.size(); ++d) {
    for (std::size_t at = d; at > 0 && dims[at].in < dims[at - 1].in; --at)
      std::swap(dims[at], dims[at - 1]);
  }
  std::size_t last = 0;
  for (std::size_t d = 1; d < dims.size(); ++d) {
    Dim& inner = dims[last];
    if (dims[d].in == inner.in * inner.size && dims[d].out == inner.out * inner.size) {
      inner.size *= dims[d].size;
    } else {
      dims[++last] = dims[d];
    }
  }
  if (dims.empty())
    dims.push_back({1, 0, 0});
  else
    dims.resize(last + 1);
}

Plan plan_of(std::span<const std::int64_t> shape, std::span<const bool> reduced, const Operand& in,
             const Operand& out) {
  Plan plan;
  for (std::size_t d = shape.size(); d-- > 0;) {
    (reduced[d] ? plan.elements : plan.outputs) *= shape[d];
    if (shape[d] == 1) continue;
    (reduced[d] ? plan.gone : plan.kept)
        .push_back({shape[d], in.strides[d] * in.itemsize, out.strides[d] * out.itemsize});
  }
  arrange(plan.kept);
  arrange(plan.gone);
  return plan;
}

// Bytes from the first element to the one with that number.
std::int64_t offset(const std::vector<Dim>& dims, std::int64_t number, std::int64_t Dim::* stride) {
  std::int64_t bytes = 0;
  for (const Dim& dim : dims) {
    bytes += number % dim.size * (dim.*stride);
    number /= dim.size;
  }
  return bytes;
}

// Calls row(pointer, first number, count) for the elements with numbers [begin, end) of dimensions.
template <class Row>
void for_each_row(const std::vector<Dim>& dims, const std::byte* data, std::int64_t begin,
                  std::int64_t end, Row&& row) {
  while (begin < end) {
    const std::int64_t n = std::min(end - begin, dims[0].size - begin % dims[0].size);
    row(data + offset(dims, begin, &Dim::in), begin, n);
    begin += n;
  }
}

// Elements that are reduced one after another before the stretch is merged with the others: the
// same whatever the threads. And results that are worked on side by side.
constexpr std::int64_t kStretch = 1 << 16;
constexpr std::int64_t kAbreast = 256;

// Several accumulators in turn, so that one step does not wait for the last.
constexpr std::int64_t kLanes = 8;

template <class Reducer, class T>
typename Reducer::Acc reduce_row(const Reducer& reducer, const std::byte* data, std::int64_t stride,
                                 std::int64_t first, std::int64_t n) {
  using Acc = typename Reducer::Acc;
  if constexpr (std::same_as<Reducer, reducers::Sum<float>>) {
    if (stride == sizeof(float)) return sum_floats(data, n);
  }
  if constexpr (std::same_as<Reducer, reducers::Sum<double>>) {
    if (stride == sizeof(double)) return sum_doubles(data, n);
  }
  if (n < 4 * kLanes) {
    Acc acc = reducer.start();
    for (std::int64_t i = 0; i < n; ++i)
      reducer.step(acc, load_element<T>(data + i * stride), first + i);
    return acc;
  }
  // Neighbouring stretches, not every eighth element: what is merged is in order.
  Acc lanes[kLanes];
  const std::int64_t length = n / kLanes;
  for (Acc& lane : lanes) lane = reducer.start();
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const std::int64_t at = lane * length + i;
      reducer.step(lanes[lane], load_element<T>(data + at * stride), first + at);
    }
  }
  for (std::int64_t lane = 1; lane < kLanes; ++lane) reducer.merge(lanes[0], lanes[lane]);
  for (std::int64_t i = length * kLanes; i < n; ++i)
    reducer.step(lanes[0], load_element<T>(data + i * stride), first + i);
  return lanes[0];
}

template <class Reducer, class T>
class Reduction {
  using Acc = typename Reducer::Acc;

 public:
  Reduction(const Plan& plan, const ReduceParameters& parameters, const std::byte* in)
      : plan_(plan), reducer_(parameters), in_(in) {
    // Where results lie closer together than the elements of one, they are worked on abreast.
    abreast_ = plan.kept[0].in < plan.gone[0].in && plan.kept[0].size > 1;
    width_ = abreast_ ? std::min(plan.kept[0].size, kAbreast) : 1;
    per_row_ = (plan.kept[0].size + width_ - 1) / width_;
    groups_ = abreast_ ? plan.outputs / plan.kept[0].size * per_row_ : plan.outputs;
    stretch_ = std::max<std::int64_t>(1, kStretch / width_);
    // Results alone make enough work, or one is cut.
    stretches_ = groups_ >= 64 ? 1 : (plan.elements - 1) / stretch_ + 1;
    if (stretches_ == 1) stretch_ = plan.elements;
  }

  template <class Write>
  void run(Write&& write) const {
    const std::int64_t slots = groups_ * stretches_ * width_;
    const auto partial = std::make_unique<Acc[]>(static_cast<std::size_t>(slots));
    const std::int64_t work = std::min(stretch_, plan_.elements) * width_;
    const std::int64_t grain = std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(work, 1));
    parallel_for(0, groups_ * stretches_, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t item = begin; item < end; ++item)
        reduce_item(item / stretches_, item % stretches_,
                    &partial[static_cast<std::size_t>(item * width_)]);
    });
    for (std::int64_t group = 0; group < groups_; ++group) {
      Acc* first = &partial[static_cast<std::size_t>(group * stretches_ * width_)];
      for (std::int64_t s = 1; s < stretches_; ++s) {
        for (std::int64_t j = 0; j < width_; ++j) reducer_.merge(first[j], first[s * width_ + j]);
      }
      const std::int64_t output = first_output(group);
      for (std::int64_t j = 0, n = outputs_in(group); j < n; ++j)
        write(output + j, reducer_.result(first[j]));
    }
  }

 private:
  std::int64_t first_output(std::int64_t group) const {
    if (!abreast_) return group;
    return group / per_row_ * plan_.kept[0].size + group % per_row_ * width_;
  }
  std::int64_t outputs_in(std::int64_t group) const {
    if (!abreast_) return 1;
    return std::min(width_, plan_.kept[0].size - group % per_row_ * width_);
  }

  void reduce_item(std::int64_t group, std::int64_t stretch, Acc* acc) const {
    const std::int64_t begin = stretch * stretch_, end = std::min(begin + stretch_, plan_.elements);
    for (std::int64_t j = 0; j < width_; ++j) acc[j] = reducer_.start();
    if (begin >= end) return;  // of nothing, which may lie nowhere
    const std::byte* data = in_ + offset(plan_.kept, first_output(group), &Dim::in);
    const std::int64_t outputs = outputs_in(group), step = plan_.kept[0].in;
    for_each_row(
        plan_.gone, data, begin, end,
        [&](const std::byte* row, std::int64_t first, std::int64_t n) {
          const std::int64_t stride = plan_.gone[0].in;
          if (!abreast_) {
            reducer_.merge(acc[0], reduce_row<Reducer, T>(reducer_, row, stride, first, n));
            return;
          }
          for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < outputs; ++j)
              reducer_.step(acc[j], load_element<T>(row + i * stride + j * step), first + i);
          }
        });
  }

  const Plan& plan_;
  Reducer reducer_;
  const std::byte* in_;
  bool abreast_;
  std::int64_t width_, per_row_, groups_, stretch_, stretches_;
};

template <class T>
inline constexpr bool kReducible =
    std::integral<T> || std::floating_point<T> || std::same_as<T, Half> ||
    std::same_as<T, BFloat16> || is_complex_type<T>;
template <class T>
inline constexpr bool kOrdered = kReducible<T> && !is_complex_type<T>;

// Calls f with a reducer type for elements of T, or says that there is none.
template <class T, class F>
bool with_reducer(ReduceFunction function, F&& f) {
  using namespace reducers;
  if constexpr (kReducible<T>) {
    switch (function) {
      case ReduceFunction::sum: f.template operator()<Sum<T>>(); return true;
      case ReduceFunction::prod: f.template operator()<Prod<T>>(); return true;
      case ReduceFunction::any: f.template operator()<Truth<T, false>>(); return true;
      case ReduceFunction::all: f.template operator()<Truth<T, true>>(); return true;
      case ReduceFunction::count_true: f.template operator()<CountTrue<T>>(); return true;
      default: break;
    }
    if constexpr (!std::integral<T>) {
      switch (function) {
        case ReduceFunction::mean: f.template operator()<Mean<T>>(); return true;
        case ReduceFunction::var: f.template operator()<Var<T>>(); return true;
        case ReduceFunction::norm: f.template operator()<Norm<T>>(); return true;
        default: break;
      }
    }
    if constexpr (kOrdered<T>) {
      switch (function) {
        case ReduceFunction::amax: f.template operator()<Extreme<T, true>>(); return true;
        case ReduceFunction::amin: f.template operator()<Extreme<T, false>>(); return true;
        default: break;
      }
      if constexpr (!std::same_as<T, bool>) {
        switch (function) {
          case ReduceFunction::argmax: f.template operator()<Where<T, true>>(); return true;
          case ReduceFunction::argmin: f.template operator()<Where<T, false>>(); return true;
          default: break;
        }
      }
    }
  }
  return false;
}

}  // namespace

bool has_reduction(ReduceFunction function, DType dtype) {
  return visit(dtype, [&]<class T>() { return with_reducer<T>(function, []<class Reducer>() {}); });
}

void reduce(ReduceFunction function, std::span<const std::int64_t> shape,
            std::span<const bool> reduced, const Operand& in, DType in_dtype, const Operand& out,
            DType out_dtype, const ReduceParameters& parameters) {
  const Plan plan = plan_of(shape, reduced, in, out);
  if (plan.outputs == 0) return;
  visit(in_dtype, [&]<class T>() {
    with_reducer<T>(function, [&]<class Reducer>() {
      // In the type they come out in, and converted from there: a loop for every pair of types
      // would be hundreds.
      using Result =
          decltype(std::declval<Reducer>().result(std::declval<typename Reducer::Acc>()));
      const auto results = std::make_unique<Result[]>(static_cast<std::size_t>(plan.outputs));
      Reduction<Reducer, T>(plan, parameters, in.data).run([&](std::int64_t output, Result value) {
        results[static_cast<std::size_t>(output)] = value;
      });
      const Cast cast(out_dtype, dtype_of<Result>);
      const Dim& row = plan.kept[0];
      for (std::int64_t first = 0; first < plan.outputs; first += row.size) {
        cast({out.data + offset(plan.kept, first, &Dim::out), row.out,
              reinterpret_cast<const std::byte*>(&results[static_cast<std::size_t>(first)]),
              static_cast<std::int64_t>(sizeof(Result)), row.size});
      }
    });
  });
}

}  // namespace tenon
