// Losses as modules. What each calculates is in tenon/ops/loss.h.
//
//   nn::CrossEntropyLoss criterion({.label_smoothing = 0.1});
//   Tensor loss = criterion(net(x), classes);
//
// Weights are buffers: they move with the module, and are in its state dict where there are any.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"
#include "tenon/ops/loss.h"

namespace tenon::nn {

// A result and what it should be; two results, or a result and its variance, and what they should
// be.
using Criterion = Callable<Tensor(const Tensor&, const Tensor&)>;
using TripleCriterion = Callable<Tensor(const Tensor&, const Tensor&, const Tensor&)>;

using MSELossOptions = ReductionOptions;
class TENON_API MSELoss : public Criterion {
 public:
  using Options = MSELossOptions;
  explicit MSELoss(const Options& options = {}) : reduction(options.reduction) {}

  std::string reduction;

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using L1LossOptions = ReductionOptions;
class TENON_API L1Loss : public Criterion {
 public:
  using Options = L1LossOptions;
  explicit L1Loss(const Options& options = {}) : reduction(options.reduction) {}

  std::string reduction;

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using SoftMarginLossOptions = ReductionOptions;
class TENON_API SoftMarginLoss : public Criterion {
 public:
  using Options = SoftMarginLossOptions;
  explicit SoftMarginLoss(const Options& options = {}) : reduction(options.reduction) {}

  std::string reduction;

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using MultiLabelMarginLossOptions = ReductionOptions;
class TENON_API MultiLabelMarginLoss : public Criterion {
 public:
  using Options = MultiLabelMarginLossOptions;
  explicit MultiLabelMarginLoss(const Options& options = {}) : reduction(options.reduction) {}

  std::string reduction;

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using SmoothL1LossOptions = tenon::SmoothL1LossOptions;
class TENON_API SmoothL1Loss : public Criterion {
 public:
  using Options = SmoothL1LossOptions;
  explicit SmoothL1Loss(const Options& options = {})
      : reduction(options.reduction), beta(options.beta) {}

  std::string reduction;
  double beta;

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

struct HuberLossOptions {
  std::string_view reduction = "mean";
  double delta = 1;
};
class TENON_API HuberLoss : public Criterion {
 public:
  using Options = HuberLossOptions;
  explicit HuberLoss(const Options& options = {})
      : reduction(options.reduction), delta(options.delta) {}

  std::string reduction;
  double delta;

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using CrossEntropyLossOptions = CrossEntropyOptions;
class TENON_API CrossEntropyLoss : public Criterion {
 public:
  using Options = CrossEntropyLossOptions;
  explicit CrossEntropyLoss(const Options& options = {});

  std::int64_t ignore_index;
  std::string reduction;
  double label_smoothing;
  Buffer weight{this, "weight"};

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using NLLLossOptions = NllLossOptions;
class TENON_API NLLLoss : public Criterion {
 public:
  using Options = NLLLossOptions;
  explicit NLLLoss(const Options& options = {});

  std::int64_t ignore_index;
  std::string reduction;
  Buffer weight{this, "weight"};

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using BCELossOptions = WeightOptions;
class TENON_API BCELoss : public Criterion {
 public:
  using Options = BCELossOptions;
  explicit BCELoss(const Options& options = {});

  std::string reduction;
  Buffer weight{this, "weight"};

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using BCEWithLogitsLossOptions = BceWithLogitsOptions;
class TENON_API BCEWithLogitsLoss : public Criterion {
 public:
  using Options = BCEWithLogitsLossOptions;
  explicit BCEWithLogitsLoss(const Options& options = {});

  std::string reduction;
  Buffer weight{this, "weight"};
  Buffer pos_weight{this, "pos_weight"};

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using KLDivLossOptions = KlDivOptions;
class TENON_API KLDivLoss : public Criterion {
 public:
  using Options = KLDivLossOptions;
  explicit KLDivLoss(const Options& options = {})
      : reduction(options.reduction), log_target(options.log_target) {}

  std::string reduction;
  bool log_target;

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using MultiLabelSoftMarginLossOptions = WeightOptions;
class TENON_API MultiLabelSoftMarginLoss : public Criterion {
 public:
  using Options = MultiLabelSoftMarginLossOptions;
  explicit MultiLabelSoftMarginLoss(const Options& options = {});

  std::string reduction;
  Buffer weight{this, "weight"};

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using MultiMarginLossOptions = tenon::MultiMarginLossOptions;
class TENON_API MultiMarginLoss : public Criterion {
 public:
  using Options = MultiMarginLossOptions;
  // ValueError for another p than 1 and 2.
  explicit MultiMarginLoss(const Options& options = {});

  std::int64_t p;
  double margin;
  std::string reduction;
  Buffer weight{this, "weight"};

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using PoissonNLLLossOptions = PoissonNllLossOptions;
class TENON_API PoissonNLLLoss : public Criterion {
 public:
  using Options = PoissonNLLLossOptions;
  explicit PoissonNLLLoss(const Options& options = {})
      : log_input(options.log_input),
        full(options.full),
        eps(options.eps),
        reduction(options.reduction) {}

  bool log_input;
  bool full;
  double eps;
  std::string reduction;

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using HingeEmbeddingLossOptions = tenon::HingeEmbeddingLossOptions;
class TENON_API HingeEmbeddingLoss : public Criterion {
 public:
  using Options = HingeEmbeddingLossOptions;
  explicit HingeEmbeddingLoss(const Options& options = {})
      : margin(options.margin), reduction(options.reduction) {}

  double margin;
  std::string reduction;

 protected:
  Tensor forward(const Tensor& input, const Tensor& target) override;
};

using GaussianNLLLossOptions = GaussianNllLossOptions;
class TENON_API GaussianNLLLoss : public TripleCriterion {
 public:
  using Options = GaussianNLLLossOptions;
  explicit GaussianNLLLoss(const Options& options = {})
      : full(options.full), eps(options.eps), reduction(options.reduction) {}

  bool full;
  double eps;
  std::string reduction;

 protected:
  Tensor forward(const Tensor& input, const Tensor& target, const Tensor& var) override;
};

using MarginRankingLossOptions = MarginOptions;
class TENON_API MarginRankingLoss : public TripleCriterion {
 public:
  using Options = MarginRankingLossOptions;
  explicit MarginRankingLoss(const Options& options = {})
      : margin(options.margin), reduction(options.reduction) {}

  double margin;
  std::string reduction;

 protected:
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target) override;
};

using CosineEmbeddingLossOptions = MarginOptions;
class TENON_API CosineEmbeddingLoss : public TripleCriterion {
 public:
  using Options = CosineEmbeddingLossOptions;
  explicit CosineEmbeddingLoss(const Options& options = {})
      : margin(options.margin), reduction(options.reduction) {}

  double margin;
  std::string reduction;

 protected:
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target) override;
};

using TripletMarginLossOptions = tenon::TripletMarginLossOptions;
class TENON_API TripletMarginLoss : public TripleCriterion {
 public:
  using Options = TripletMarginLossOptions;
  // ValueError for a margin that is not above 0.
  explicit TripletMarginLoss(const Options& options = {});

  double margin;
  double p;
  double eps;
  bool swap;
  std::string reduction;

 protected:
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative) override;
};

using TripletMarginWithDistanceLossOptions = tenon::TripletMarginWithDistanceLossOptions;
class TENON_API TripletMarginWithDistanceLoss : public TripleCriterion {
 public:
  using Options = TripletMarginWithDistanceLossOptions;
  explicit TripletMarginWithDistanceLoss(const Options& options = {});

  std::function<Tensor(const Tensor&, const Tensor&)> distance_function;
  double margin;
  bool swap;
  std::string reduction;
  // Where no function is given, a PairwiseDistance.
  Child<Criterion> distance{this, "distance_function", absent};

 protected:
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative) override;
};

using CosineSimilarityOptions = tenon::CosineSimilarityOptions;
class TENON_API CosineSimilarity : public Criterion {
 public:
  using Options = CosineSimilarityOptions;
  explicit CosineSimilarity(const Options& options = {}) : dim(options.dim), eps(options.eps) {}

  std::int64_t dim;
  double eps;

 protected:
  Tensor forward(const Tensor& x1, const Tensor& x2) override;
};

using PairwiseDistanceOptions = tenon::PairwiseDistanceOptions;
class TENON_API PairwiseDistance : public Criterion {
 public:
  using Options = PairwiseDistanceOptions;
  explicit PairwiseDistance(const Options& options = {})
      : p(options.p), eps(options.eps), keepdim(options.keepdim) {}

  double p;
  double eps;
  bool keepdim;

 protected:
  Tensor forward(const Tensor& x1, const Tensor& x2) override;
};

}  // namespace tenon::nn
