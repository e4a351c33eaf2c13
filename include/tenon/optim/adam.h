// Adam, and AdamW, whose weight decay is taken from the parameter and not added to the gradient.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/optim/optimizer.h"

namespace tenon::optim {

struct AdamOptions {
  double lr = 1e-3;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;
  // Which of several ways PyTorch takes. There is one here; these are kept for its files.
  std::optional<bool> foreach = {};
  bool maximize = false;
  std::optional<bool> fused = {};
  bool decoupled_weight_decay = false;
};
struct AdamWOptions {
  double lr = 1e-3;
  std::pair<double, double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool amsgrad = false;
  bool maximize = false;
  // As above.
  std::optional<bool> foreach = {};
  std::optional<bool> fused = {};
};
// What is not given is as in the options.
struct AdamGroup {
  Params params;
  std::optional<double> lr = {};
  std::optional<std::pair<double, double>> betas = {};
  std::optional<double> eps = {};
  std::optional<double> weight_decay = {};
  std::optional<bool> amsgrad = {};
  std::optional<bool> foreach = {};
  std::optional<bool> maximize = {};
  std::optional<bool> fused = {};
  std::optional<bool> decoupled_weight_decay = {};  // of Adam; AdamW's always is
};
using AdamWGroup = AdamGroup;

class TENON_API Adam : public Optimizer {
 public:
  explicit Adam(Params params, const AdamOptions& options = {});
  explicit Adam(std::span<const AdamGroup> groups, const AdamOptions& options = {});
  template <std::size_t N>
  explicit Adam(const AdamGroup (&groups)[N], const AdamOptions& options = {})
      : Adam(std::span<const AdamGroup>(groups), options) {}
  ~Adam() override;

  using Optimizer::add_param_group;
  void add_param_group(const AdamGroup& group);

 protected:
  Adam(std::string type_name, const AdamOptions& options, std::vector<ParamGroup> groups);

  void check(const ParamGroup& group, bool fresh) const override;
  void complete(ParamGroup& group) const override;
  void update(ParamGroup& group) override;
  std::vector<Kept> kept(const ParamGroup& group) const override;
};

class TENON_API AdamW final : public Adam {
 public:
  explicit AdamW(Params params, const AdamWOptions& options = {});
  explicit AdamW(std::span<const AdamWGroup> groups, const AdamWOptions& options = {});
  template <std::size_t N>
  explicit AdamW(const AdamWGroup (&groups)[N], const AdamWOptions& options = {})
      : AdamW(std::span<const AdamWGroup>(groups), options) {}
  ~AdamW() override;

 protected:
  void complete(ParamGroup& group) const override;
};

}  // namespace tenon::optim
