#include "parity/difference.h"

#include <cmath>

namespace tenon::parity {

namespace {

double unit(double value, DType dtype) {
  const int digits = dtype == float64 ? 52 : dtype == float32 ? 23 : dtype == float16 ? 10 : 7;
  const int least = dtype == float64 ? -1074 : dtype == float16 ? -24 : -149;
  if (value == 0 || !std::isfinite(value)) return std::ldexp(1.0, least);
  return std::ldexp(1.0, std::max(std::ilogb(value) - digits, least));
}

}  // namespace

std::string difference(const Tensor& ours, const Line& expected, double units, double scale) {
  std::vector<std::byte> data = bytes(expected[5]);
  if (data.empty()) return "";
  const Tensor theirs = from_blob(data.data(), {ours.numel()}, {.dtype = dtype(expected[1])});
  const Tensor mine = ours.contiguous().view(-1);
  const DType part = to_real(ours.dtype());
  for (std::int64_t i = 0; i < mine.numel(); ++i) {
    const Scalar a = mine[i].item(), b = theirs[i].item();
    if (!ours.is_complex() && !ours.is_floating_point()) {
      if (a.repr() != b.repr()) return a.repr() + " and not " + b.repr();
      continue;
    }
    const auto x = a.to<std::complex<double>>(), y = b.to<std::complex<double>>();
    const double size = ours.is_complex() ? std::abs(y) : y.real();
    for (const auto& [p, q] : {std::pair(x.real(), y.real()), std::pair(x.imag(), y.imag())}) {
      if (std::isnan(p) && std::isnan(q)) continue;
      if (p == q && (units != 0 || std::signbit(p) == std::signbit(q))) continue;
      // Where functions cross zero, digits are lost on both sides.
      if (std::fabs(p - q) <=
          units * unit(units >= 64 ? std::max(std::fabs(size), scale) : size, part))
        continue;
      return "element " + std::to_string(i) + ": " + a.repr() + " and not " + b.repr();
    }
  }
  return "";
}

}  // namespace tenon::parity
