// Adagrad: the larger the gradients so far, the smaller the steps.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/optim/optimizer.h"

namespace tenon::optim {

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
  // Which of several ways PyTorch takes. There is one here; these are kept for its files.
  std::optional<bool> foreach = {};
  bool maximize = false;
  std::optional<bool> fused = {};
};
// What is not given is as in the options.
struct AdagradGroup {
  Params params;
  std::optional<double> lr = {};
  std::optional<double> lr_decay = {};
  std::optional<double> weight_decay = {};
  std::optional<double> initial_accumulator_value = {};
  std::optional<double> eps = {};
  std::optional<bool> foreach = {};
  std::optional<bool> maximize = {};
  std::optional<bool> fused = {};
};

// Has a state for every parameter from the beginning.
class TENON_API Adagrad final : public Optimizer {
 public:
  explicit Adagrad(Params params, const AdagradOptions& options = {});
  explicit Adagrad(std::span<const AdagradGroup> groups, const AdagradOptions& options = {});
  template <std::size_t N>
  explicit Adagrad(const AdagradGroup (&groups)[N], const AdagradOptions& options = {})
      : Adagrad(std::span<const AdagradGroup>(groups), options) {}
  ~Adagrad() override;

  using Optimizer::add_param_group;
  void add_param_group(const AdagradGroup& group);

 protected:
  void check(const ParamGroup& group, bool fresh) const override;
  void complete(ParamGroup& group) const override;
  void update(ParamGroup& group) override;
  std::vector<Kept> kept(const ParamGroup& group) const override;

 private:
  Adagrad(std::vector<ParamGroup> groups, const AdagradOptions& options);
  NamedValues& begun(double initial_accumulator_value, const Tensor& parameter);
};

}  // namespace tenon::optim
