// Embedding: a table of vectors, looked up by number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"

namespace tenon::nn {

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_idx = {};  // a row of zeros that is not trained
  std::optional<double> max_norm = {};           // longer rows are shortened when they are used
  double norm_type = 2;
  bool scale_grad_by_freq = false;
  bool sparse = false;
  std::optional<Tensor> weight = {};  // PyTorch's _weight: values to begin with
  bool freeze = false;                // PyTorch's _freeze: the weight does not require grad
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};
struct FromPretrainedOptions {
  bool freeze = true;
  std::optional<std::int64_t> padding_idx = {};
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false;
  bool sparse = false;
};

class TENON_API Embedding : public Layer {
 public:
  using Options = EmbeddingOptions;
  // ValueError for a padding_idx that is no row, ShapeError for a weight of another shape.
  Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, const Options& options = {});
  // Over a matrix that is there. ShapeError if it is none.
  static std::shared_ptr<Embedding> from_pretrained(const Tensor& embeddings,
                                                    const FromPretrainedOptions& options = {});

  void reset_parameters();
  std::string extra_repr() const override;

  std::int64_t num_embeddings, embedding_dim;
  std::optional<std::int64_t> padding_idx;
  std::optional<double> max_norm;
  double norm_type;
  bool scale_grad_by_freq, sparse;
  Parameter weight{this, "weight"};

 protected:
  Tensor forward(const Tensor& input) override;
};

}  // namespace tenon::nn
