#include "tenon/optim/cosine_annealing.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/text.h"
#include "core/value_text.h"
#include "optim/schedule_arithmetic.h"
#include "tenon/error.h"

namespace tenon::optim::lr_scheduler {

namespace {

constexpr double kPi = std::numbers::pi;

// That part of the way down, from 0 to 1, times pi.
double on_cosine(double base_lr, double eta_min, double angle) {
  return eta_min + (base_lr - eta_min) * (1 + std::cos(angle)) / 2;
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) || product > kMaxCount ? kMaxCount : product;
}

}  // namespace

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, std::int64_t T_max,
                                     const CosineAnnealingLROptions& options)
    : LRScheduler("CosineAnnealingLR", optimizer, options.last_epoch),
      T_max_(T_max),
      eta_min_(options.eta_min) {
  initial_step();
}
CosineAnnealingLR::~CosineAnnealingLR() = default;

void CosineAnnealingLR::check() const {
  check_count("T_max", T_max_, 1);
  check_finite("eta_min", eta_min_);
}

std::vector<double> CosineAnnealingLR::current_lr() const {
  if (is_initial_) return changed([](double lr) { return lr; });
  const double epoch = real(last_epoch_), length = real(T_max_);
  if (step_count_ == 1 && last_epoch_ > 0) {
    return based(
        [&](double base_lr) { return on_cosine(base_lr, eta_min_, epoch * kPi / length); });
  }
  // From eta_min there is no factor that leads up again.
  if (floor_mod(last_epoch_ - 1 - T_max_, 2 * T_max_) == 0) {
    const std::vector<double> lrs = numbers("lr");
    std::size_t i = 0;
    const double rise = 1 - std::cos(kPi / length);
    return based([&](double base_lr) { return lrs[i++] + (base_lr - eta_min_) * rise / 2; });
  }
  const double factor =
      (1 + std::cos(kPi * epoch / length)) / (1 + std::cos(kPi * (epoch - 1) / length));
  return changed([&](double lr) { return factor * (lr - eta_min_) + eta_min_; });
}

std::optional<std::vector<double>> CosineAnnealingLR::closed_form_lr() const {
  const double angle = kPi * real(last_epoch_) / real(T_max_);
  return based([&](double base_lr) { return on_cosine(base_lr, eta_min_, angle); });
}

void CosineAnnealingLR::own_state(SchedulerState& state) {
  state.integer("T_max", T_max_);
  state.real("eta_min", eta_min_);
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(
    Optimizer& optimizer, std::int64_t T_0, const CosineAnnealingWarmRestartsOptions& options)
    : LRScheduler("CosineAnnealingWarmRestarts", optimizer, options.last_epoch),
      T_0_(T_0),
      T_i_(T_0),
      T_mult_(options.T_mult),
      eta_min_(options.eta_min),
      T_cur_(real(options.last_epoch)) {
  initial_step();
}
CosineAnnealingWarmRestarts::~CosineAnnealingWarmRestarts() = default;

void CosineAnnealingWarmRestarts::check() const {
  check_count("T_0", T_0_, 1);
  if (T_mult_ < 1 || T_mult_ > kMaxCount)
    throw ValueError(concat("Expected integer T_mult >= 1, but got ", T_mult_));
  check_count("T_i", T_i_, 1);
  check_finite("eta_min", eta_min_);
  check_finite("T_cur", T_cur_);
}

std::vector<double> CosineAnnealingWarmRestarts::current_lr() const {
  return based(
      [&](double base_lr) { return on_cosine(base_lr, eta_min_, kPi * T_cur_ / real(T_i_)); });
}

// Which cycle the epoch is in, and where.
void CosineAnnealingWarmRestarts::restart_at(double epoch) {
  T_cur_is_whole_ = std::floor(epoch) == epoch;
  T_i_ = T_0_;
  T_cur_ = epoch;
  if (epoch < real(T_0_)) return;
  if (T_mult_ == 1) {
    T_cur_ = std::fmod(epoch, real(T_0_));
    return;
  }
  const double cycles = epoch / real(T_0_) * real(T_mult_ - 1) + 1;
  const int n = static_cast<int>(std::log(cycles) / std::log(real(T_mult_)));
  const double longer = std::pow(real(T_mult_), n);
  T_cur_ = epoch - real(T_0_) * (longer - 1) / real(T_mult_ - 1);
  T_cur_is_whole_ = false;
  for (int i = 0; i < n; ++i) T_i_ = times(T_i_, T_mult_);
}

void CosineAnnealingWarmRestarts::step(double epoch) { advance(epoch); }

void CosineAnnealingWarmRestarts::advance(std::optional<double> epoch) {
  if (!epoch && last_epoch_ < 0) epoch = 0;
  if (epoch && !(*epoch >= 0 && *epoch <= real(kMaxCount))) {
    throw ValueError(
        concat("Expected non-negative epoch, but got ",
               std::floor(*epoch) == *epoch
                   ? Value(static_cast<std::int64_t>(std::clamp(*epoch, -1e18, 1e18))).repr()
                   : Value(*epoch).repr()));
  }
  const nn::detail::Guard guard(static_cast<const void*>(this), "the scheduler took a step");
  const std::int64_t last_epoch = last_epoch_, T_i = T_i_;
  const double T_cur = T_cur_;
  const bool whole = T_cur_is_whole_;
  if (epoch) {
    restart_at(*epoch);
    last_epoch_ = static_cast<std::int64_t>(std::floor(*epoch));
  } else {
    ++last_epoch_;
    T_cur_ += 1;
    if (T_cur_ >= real(T_i_)) {
      T_cur_ = std::fmod(T_cur_, real(T_i_));
      T_i_ = times(T_i_, T_mult_);
    }
  }
  try {
    write(current_lr());
  } catch (...) {
    if (guard.is_gone()) throw;
    last_epoch_ = last_epoch;
    T_i_ = T_i;
    T_cur_ = T_cur;
    T_cur_is_whole_ = whole;
    throw;
  }
  keep_last_lr();
}

void CosineAnnealingWarmRestarts::own_state(SchedulerState& state) {
  state.integer("T_0", T_0_);
  state.integer("T_i", T_i_);
  state.integer("T_mult", T_mult_);
  state.real("eta_min", eta_min_);
  const Value now = T_cur_is_whole_ ? Value(static_cast<std::int64_t>(T_cur_)) : Value(T_cur_);
  state.value("T_cur", now, [this](const Value& saved) -> std::function<void()> {
    const double read = saved.as_real();
    const bool whole = saved.kind() == Value::Kind::integer;
    if (!std::isfinite(read) || std::abs(read) > real(kMaxCount))
      throw ValueError(concat("must be a finite number, but is ", short_repr(saved)));
    return [this, read, whole] {
      T_cur_ = read;
      T_cur_is_whole_ = whole;
    };
  });
}

}  // namespace tenon::optim::lr_scheduler
