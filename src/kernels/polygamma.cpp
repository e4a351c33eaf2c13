#include "kernels/polygamma.h"

#include <cmath>
#include <limits>

#include "kernels/element.h"
#include "kernels/pieces.h"

namespace tenon {

namespace {

// Hurwitz's zeta function, the sum of 1 / (q + k)^s over k >= 0, for q > 0 and s >= 2: term by term
// until the sum of Euler and Maclaurin for the rest is good to the last digit.
double zeta(double s, double q) {
  // Bernoulli's numbers B_2, B_4, ... divided by the factorials of 2, 4, ...
  constexpr double kBernoulli[] = {1.0 / 12,          -1.0 / 720,
                                   1.0 / 30240,       -1.0 / 1209600,
                                   1.0 / 47900160,    -691.0 / 1307674368000,
                                   1.0 / 74724249600, -3617.0 / 10670622842880000};
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 8;
  double sum = 0, a = q;
  for (const double enough = 2 * s + 10; a < enough; a += 1) {
    const double term = std::pow(a, -s);
    sum += term;
    if (term <= sum * kEpsilon || std::isinf(sum)) return sum;
  }
  const double power = std::pow(a, -s);
  // The smallest first.
  double rest = 0, factor = power * s / a, factors[std::size(kBernoulli)];
  for (std::size_t j = 0; j < std::size(kBernoulli); ++j) {
    factors[j] = factor;
    const auto twice = static_cast<double>(2 * j);
    factor *= (s + twice + 1) / a * ((s + twice + 2) / a);
  }
  for (std::size_t j = std::size(kBernoulli); j-- > 0;) rest += kBernoulli[j] * factors[j];
  // Not power * a, which would lose what is too small for a power but not for the one before.
  return sum + (rest + power / 2 + std::pow(a, 1 - s) / (s - 1));
}

// The sum of 1 / (x + k)^s over k >= 0, for any x that is no pole. Below 0 it has terms on both
// sides: those above 0 begin with the distance to the whole number below x, those under it, which
// end, with the distance to the one above.
double zeta_anywhere(std::int64_t s, double x) {
  const auto power = static_cast<double>(s);
  if (x > 0) return zeta(power, x);
  const double above = zeta(power, x - std::floor(x));
  const double under = zeta(power, std::ceil(x) - x), beyond = zeta(power, 1 - x);
  // Halfway between two whole numbers the first two are the same to the last bit.
  return s % 2 == 0 ? above + under - beyond : above - under + beyond;
}

}  // namespace

double polygamma(std::int64_t n, double x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (std::isnan(x) || x == -kInfinity) return std::numeric_limits<double>::quiet_NaN();
  const double sign = n % 2 == 0 ? -1 : 1;
  if (x <= 0 && x == std::floor(x)) return sign * kInfinity;
  const double sum = sign * zeta_anywhere(n + 1, x);
  constexpr std::int64_t kLastFactorial = 170;
  if (n > kLastFactorial) {
    const double size = std::lgamma(static_cast<double>(n) + 1) + std::log(std::fabs(sum));
    return std::copysign(std::exp(size), sum);
  }
  double factorial = 1;
  for (std::int64_t i = 2; i <= n; ++i) factorial *= static_cast<double>(i);
  return factorial * sum;
}

void apply_polygamma(std::int64_t n, std::span<const std::int64_t> shape, const TypedOperand& out,
                     const TypedOperand& a) {
  const Loop<2> loop(shape, {out.place, a.place});
  run_converted<2>(
      loop, {out.dtype, a.dtype}, float64, float64,
      [&](const Loop<2>::Pointers& at, const Loop<2>::Strides& strides, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
          store_element<double>(at[0] + i * strides[0],
                                polygamma(n, load_element<double>(at[1] + i * strides[1])));
        }
      });
}

}  // namespace tenon
