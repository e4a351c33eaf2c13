// RMSprop: gradients are divided by a running mean of their size.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/optim/optimizer.h"

namespace tenon::optim {

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
  // Which of several ways PyTorch takes. There is one here; it is kept for its files.
  std::optional<bool> foreach = {};
  bool maximize = false;
};
// What is not given is as in the options.
struct RMSpropGroup {
  Params params;
  std::optional<double> lr = {};
  std::optional<double> alpha = {};
  std::optional<double> eps = {};
  std::optional<double> weight_decay = {};
  std::optional<double> momentum = {};
  std::optional<bool> centered = {};
  std::optional<bool> foreach = {};
  std::optional<bool> maximize = {};
};

class TENON_API RMSprop final : public Optimizer {
 public:
  explicit RMSprop(Params params, const RMSpropOptions& options = {});
  explicit RMSprop(std::span<const RMSpropGroup> groups, const RMSpropOptions& options = {});
  template <std::size_t N>
  explicit RMSprop(const RMSpropGroup (&groups)[N], const RMSpropOptions& options = {})
      : RMSprop(std::span<const RMSpropGroup>(groups), options) {}
  ~RMSprop() override;

  using Optimizer::add_param_group;
  void add_param_group(const RMSpropGroup& group);

 protected:
  void check(const ParamGroup& group, bool fresh) const override;
  void complete(ParamGroup& group) const override;
  void update(ParamGroup& group) override;
  std::vector<Kept> kept(const ParamGroup& group) const override;

 private:
  RMSprop(std::vector<ParamGroup> groups, const RMSpropOptions& options);
};

}  // namespace tenon::optim
