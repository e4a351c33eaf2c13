// Random programs of views, copies and indexing with any numbers at all, on the CPU and on meta at
// once. Nothing may crash or read outside, and the two devices must agree on every shape and on
// every refusal.
#include <tenon/tenon.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>

namespace {

using namespace tenon;

// Numbers from the fuzzer's bytes: mostly small, sometimes anything.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  std::uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  std::int64_t number() {
    const std::uint8_t kind = byte();
    if (kind < 224) return static_cast<std::int64_t>(kind % 13) - 4;
    std::int64_t any = 0;
    for (int i = 0; i < 8; ++i)
      any = static_cast<std::int64_t>(static_cast<std::uint64_t>(any) << 8 | byte());
    return any;
  }
  Dims numbers() {
    Dims dims;
    for (int n = byte() % 7; n > 0; --n) dims.push_back(number());
    return dims;
  }
  std::optional<std::int64_t> maybe() {
    return byte() % 3 == 0 ? std::nullopt : std::optional(number());
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

// What would be copied: elements that are the same few again, by the billion.
bool too_large(const Tensor& t) { return t.numel() > 1 << 20; }

// A tensor without elements whose other sizes have more bytes than can be counted, which a copy of
// another dtype may have (docs/divergences.md).
bool past_all_bytes(const Tensor& t) {
  if (t.numel() != 0) return false;
  std::int64_t bytes = itemsize(float32);
  for (const std::int64_t size : t.shape()) {
    if (size > 1 && __builtin_mul_overflow(bytes, size, &bytes)) return true;
  }
  return false;
}

// The operator is read once and applied to both tensors.
std::function<Tensor(const Tensor&)> next_operator(Bytes& in) {
  switch (in.byte() % 24) {
    case 0: return [s = Shape(in.numbers())](const Tensor& t) { return t.view(s); };
    case 1:
      return [s = Shape(in.numbers())](const Tensor& t) { return too_large(t) ? t : t.reshape(s); };
    case 2:
      return [d = in.number(), a = in.maybe(), b = in.maybe(), s = in.number()](const Tensor& t) {
        return t.slice(d, a, b, s);
      };
    case 3:
      return [d = in.number(), a = in.number(), n = in.number()](const Tensor& t) {
        return t.narrow(d, a, n);
      };
    case 4: return [d = in.number(), i = in.number()](const Tensor& t) { return t.select(d, i); };
    case 5:
      return [a = in.number(), b = in.number()](const Tensor& t) { return t.transpose(a, b); };
    case 6: return [p = in.numbers()](const Tensor& t) { return t.permute(p); };
    case 7: return [s = Shape(in.numbers())](const Tensor& t) { return t.expand(s); };
    case 8: return [d = in.numbers()](const Tensor& t) { return t.squeeze(d); };
    case 9: return [d = in.number()](const Tensor& t) { return t.unsqueeze(d); };
    case 10:
      return [a = in.number(), b = in.number()](const Tensor& t) {
        return too_large(t) ? t : t.flatten(a, b);
      };
    case 11:
      return
          [d = in.number(), s = Shape(in.numbers())](const Tensor& t) { return t.unflatten(d, s); };
    case 12:
      return [s = Shape(in.numbers()), st = in.numbers(), o = in.maybe()](const Tensor& t) {
        return t.as_strided(s, st, o);
      };
    case 13:
      return [o = in.number(), a = in.number(), b = in.number()](const Tensor& t) {
        return t.diagonal(o, a, b);
      };
    case 14:
      return [d = in.number(), n = in.number(), s = in.number()](const Tensor& t) {
        return t.unfold(d, n, s);
      };
    case 15:
      return [n = in.number(), d = in.number()](const Tensor& t) {
        return too_large(t) ? t : t.split(n, d).back();
      };
    case 16:
      return [s = in.numbers(), d = in.number()](const Tensor& t) {
        return s.empty() ? t : t.split(s, d).front();
      };
    case 17:
      return [a = in.numbers(), b = in.numbers()](const Tensor& t) { return t.movedim(a, b); };
    case 18: return [](const Tensor& t) { return t.imag(); };
    case 19: return [](const Tensor& t) { return view_as_real(t); };
    case 20: return [](const Tensor& t) { return view_as_complex(t); };
    case 21: return [](const Tensor& t) { return t.conj(); };
    case 22:
      return
          [i = in.byte() % kDTypeCount](const Tensor& t) { return t.view(static_cast<DType>(i)); };
    default:
      return [a = in.number(), b = in.maybe(), c = in.maybe(), s = in.number()](const Tensor& t) {
        return t.index({None, Slice(b, c, s), Ellipsis, a});
      };
  }
}

struct Outcome {
  Tensor result;
  std::string error;
};

Outcome attempt(const std::function<Tensor(const Tensor&)>& op, const Tensor& t) {
  try {
    return {op(t), ""};
  } catch (const InternalError&) {
    throw;
  } catch (const OutOfMemoryError&) {
    throw;  // the CPU may run out where meta does not; the case ends there
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

void check(bool agreed, const Outcome& cpu, const Outcome& meta) {
  if (agreed) return;
  std::cerr << "the CPU says: " << (cpu.error.empty() ? cpu.result.shape().repr() : cpu.error)
            << "\nmeta says:    " << (meta.error.empty() ? meta.result.shape().repr() : meta.error)
            << '\n';
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  const auto dtype = std::array{float32, complex64, uint8, int64}[in.byte() % 4];
  Tensor cpu = zeros({2, 3, 4}, {.dtype = dtype}), meta = cpu.to(Device::meta());
  try {
    for (int step = 0; step < 12 && !in.empty(); ++step) {
      const auto op = next_operator(in);
      const Outcome here = attempt(op, cpu), there = attempt(op, meta);
      check(here.error == there.error, here, there);
      if (!here.error.empty()) continue;
      const Layout &a = here.result.layout(), &b = there.result.layout();
      check(a.shape == b.shape && a.strides == b.strides && a.offset == b.offset &&
                a.dtype == b.dtype && a.conj == b.conj && a.neg == b.neg,
            here, there);
      cpu = here.result;
      meta = there.result;
      // Reading every element finds a layout that reaches outside; too many are the same few again.
      // Opaque elements have no numbers, which both devices say in the same words.
      if (cpu.numel() < 4096) {
        for (const auto& read : {+[](const Tensor& t) { return t.clone(); },
                                 +[](const Tensor& t) { return t.to(float32); }}) {
          const Outcome copied = attempt(read, cpu), copied_there = attempt(read, meta);
          check(copied.error == copied_there.error, copied, copied_there);
          check(copied.error.empty() || is_opaque(cpu.dtype()) || past_all_bytes(cpu), copied,
                copied_there);
        }
        if (!is_opaque(cpu.dtype())) cpu.repr();
      }
    }
  } catch (const OutOfMemoryError&) {
  }
  return 0;
}
