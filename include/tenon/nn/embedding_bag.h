// EmbeddingBag: sums, means or largest elements of vectors of a table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"

namespace tenon::nn {

struct EmbeddingBagOptions {
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false;
  std::string mode = "mean";
  bool sparse = false;
  std::optional<Tensor> weight = {};  // PyTorch's _weight: values to begin with
  bool include_last_offset = false;
  std::optional<std::int64_t> padding_idx = {};
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};
struct EmbeddingBagFromPretrainedOptions {
  bool freeze = true;
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false;
  std::string mode = "mean";
  bool sparse = false;
  bool include_last_offset = false;
  std::optional<std::int64_t> padding_idx = {};
};

// Called with numbers of rows, and, if these are of one dimension, where bags begin; and with a
// factor for each of them if one likes: bag(words, offsets).
class TENON_API EmbeddingBag : public Callable<Tensor(const Tensor& input, const Tensor& offsets,
                                                      const Tensor& per_sample_weights)> {
 public:
  using Options = EmbeddingBagOptions;
  // ValueError for a padding_idx that is no row, ShapeError for a weight of another shape.
  EmbeddingBag(std::int64_t num_embeddings, std::int64_t embedding_dim,
               const Options& options = {});
  // Over a matrix that is there. ShapeError if it is none.
  static std::shared_ptr<EmbeddingBag> from_pretrained(
      const Tensor& embeddings, const EmbeddingBagFromPretrainedOptions& options = {});

  void reset_parameters();
  std::string extra_repr() const override;

  std::int64_t num_embeddings, embedding_dim;
  std::optional<double> max_norm;
  double norm_type;
  bool scale_grad_by_freq;
  std::string mode;
  bool sparse, include_last_offset;
  std::optional<std::int64_t> padding_idx;
  Parameter weight{this, "weight"};

 protected:
  Tensor forward(const Tensor& input, const Tensor& offsets,
                 const Tensor& per_sample_weights) override;
};

}  // namespace tenon::nn
