// GradScaler: keeps gradients of 16-bit floats from vanishing, and steps with NaN or infinite ones
// from being taken.
//
//   amp::GradScaler scaler({.device = "cpu"});
//   for (const auto& [input, target] : data) {
//     optimizer.zero_grad();
//     Tensor loss;
//     {
//       const AutocastScope autocast("cpu", {.dtype = float16});
//       loss = mse_loss(model(input), target);
//     }
//     scaler.scale(loss).backward();
//     scaler.step(optimizer);  // or not, if a gradient is not finite
//     scaler.update();
//   }
//
// The loss, and with it all gradients, is multiplied by a scale; before the step, gradients are
// divided by it. A scale that was too large is made smaller, and after many good steps larger.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/device.h"
#include "tenon/optim/optimizer.h"
#include "tenon/tensor.h"
#include "tenon/value.h"

namespace tenon::amp {

struct GradScalerOptions {
  Device device = DeviceType::cuda;  // without CUDA it is disabled then, with a warning
  double init_scale = 65536;
  double growth_factor = 2, backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;  // how many good steps in a row make it grow
  bool enabled = true;
};

// Used by one thread at a time. If it is disabled, scale() gives back what it is given, step() is
// the optimizer's, and the others do nothing.
class TENON_API GradScaler {
 public:
  // ValueError for a growth factor of 1 or less, a backoff factor that is not between 0 and 1, or a
  // scale that is no positive float.
  explicit GradScaler(const GradScalerOptions& options = {});
  ~GradScaler();
  GradScaler(const GradScaler&) = delete;
  GradScaler& operator=(const GradScaler&) = delete;

  // The same, times the scale: a loss, or several.
  Tensor scale(const Tensor& outputs);
  // Note [Braces with names].
  template <std::same_as<std::vector<Tensor>> V>
  std::vector<Tensor> scale(const V& outputs) {
    return scale_all(outputs);
  }
  template <std::size_t N>
  std::vector<Tensor> scale(const Tensor (&outputs)[N]) {
    return scale_all({outputs, outputs + N});
  }

  // Divides the optimizer's gradients by the scale, to look at them or clip them before step(),
  // which does it otherwise. ValueError, with all gradients as they were, if one is of float16:
  // parameters are to be float32. Error if nothing was scaled, and the second time before update().
  void unscale_(optim::Optimizer& optimizer);
  // A step of the optimizer, unless a gradient has a NaN or an infinity: then parameters and what
  // the optimizer keeps stay as they are, and it gives false. Error if nothing was scaled, no
  // parameter has a gradient, or it was called before since the last update().
  bool step(optim::Optimizer& optimizer);
  // If it is disabled, the optimizer's step with a closure; else an Error.
  Tensor step(optim::Optimizer& optimizer, const std::function<Tensor()>& closure);

  // The scale for the next step, after those of all optimizers. Error if there was none.
  void update();
  // This one: a number, or a tensor of one element that does not require grad.
  void update(double new_scale);
  void update(const Tensor& new_scale);

  // 1 if it is disabled.
  double get_scale() const noexcept;
  double get_growth_factor() const noexcept { return growth_factor_; }
  double get_backoff_factor() const noexcept { return backoff_factor_; }
  std::int64_t get_growth_interval() const noexcept { return growth_interval_; }
  // ValueError as in the constructor.
  void set_growth_factor(double new_factor);
  void set_backoff_factor(double new_factor);
  void set_growth_interval(std::int64_t new_interval) noexcept { growth_interval_ = new_interval; }
  bool is_enabled() const noexcept { return enabled_; }

  // {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"}, as PyTorch
  // has it; empty if it is disabled. To be taken after update().
  Value state_dict() const;
  // LoadError, with the scaler as it was, if it is empty, or an entry is missing or of another
  // type. Nothing if it is disabled.
  void load_state_dict(const Value& state_dict);

 private:
  std::vector<Tensor> scale_all(const std::vector<Tensor>& outputs);
  enum class Stage : std::uint8_t { ready, unscaled, stepped };
  // What happened to an optimizer since the last update().
  struct Progress {
    Stage stage = Stage::ready;
    bool checked = false, found_inf = false;
  };

  void check_scaled(const char* function) const;
  void set_scale(double scale);

  Device device_;
  bool enabled_;
  double init_scale_;
  float scale_ = 0;
  bool scaled_ = false;  // whether there was something to scale
  double growth_factor_, backoff_factor_;
  std::int64_t growth_interval_, growth_tracker_ = 0;
  std::unordered_map<const optim::Optimizer*, Progress> progress_;
};

}  // namespace tenon::amp
