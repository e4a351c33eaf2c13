// SGD: stochastic gradient descent, with momentum.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/optim/optimizer.h"

namespace tenon::optim {

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
  // Which of several ways PyTorch takes. There is one here; these are kept for its files.
  std::optional<bool> foreach = {};
  std::optional<bool> fused = {};
};
// What is not given is as in the options.
struct SGDGroup {
  Params params;
  std::optional<double> lr = {};
  std::optional<double> momentum = {};
  std::optional<double> dampening = {};
  std::optional<double> weight_decay = {};
  std::optional<bool> nesterov = {};
  std::optional<bool> maximize = {};
  std::optional<bool> foreach = {};
  std::optional<bool> fused = {};
};

class TENON_API SGD final : public Optimizer {
 public:
  explicit SGD(Params params, const SGDOptions& options = {});
  explicit SGD(std::span<const SGDGroup> groups, const SGDOptions& options = {});
  template <std::size_t N>
  explicit SGD(const SGDGroup (&groups)[N], const SGDOptions& options = {})
      : SGD(std::span<const SGDGroup>(groups), options) {}
  ~SGD() override;

  using Optimizer::add_param_group;
  void add_param_group(const SGDGroup& group);

 protected:
  void check(const ParamGroup& group, bool fresh) const override;
  void complete(ParamGroup& group) const override;
  void update(ParamGroup& group) override;
  std::vector<Kept> kept(const ParamGroup& group) const override;
};

}  // namespace tenon::optim
