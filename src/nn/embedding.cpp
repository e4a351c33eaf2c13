#include "tenon/nn/embedding.h"

#include "base/text.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/nn/guard.h"
#include "tenon/nn/init.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/functional.h"

namespace tenon::nn {

Embedding::Embedding(std::int64_t rows, std::int64_t columns, const Options& options)
    : num_embeddings(rows),
      embedding_dim(columns),
      padding_idx(options.padding_idx),
      max_norm(options.max_norm),
      norm_type(options.norm_type),
      scale_grad_by_freq(options.scale_grad_by_freq),
      sparse(options.sparse) {
  if (padding_idx) {
    if (*padding_idx >= rows || *padding_idx < -rows) {
      throw ValueError(concat("Padding_idx must be within num_embeddings: it is ", *padding_idx,
                              " and there are ", rows));
    }
    if (*padding_idx < 0) *padding_idx += rows;
  }
  if (options.weight) {
    if (options.weight->shape() != Shape({rows, columns})) {
      throw ShapeError(
          concat("Shape of weight does not match num_embeddings and embedding_dim: it "
                 "is ",
                 bracketed(options.weight->shape()), " and they are [", rows, ", ", columns, "]"));
    }
    weight = make_parameter(*options.weight, !options.freeze);
    return;
  }
  weight = make_parameter(
      empty({rows, columns}, {.dtype = options.dtype, .device = options.device}), !options.freeze);
  if (!weight->is_meta()) reset_parameters();
}

std::shared_ptr<Embedding> Embedding::from_pretrained(const Tensor& embeddings,
                                                      const FromPretrainedOptions& options) {
  if (embeddings.dim() != 2) {
    throw ShapeError(concat("Embeddings parameter is expected to be 2-dimensional, but it is ",
                            bracketed(embeddings.shape())));
  }
  return make<Embedding>(embeddings.size(0), embeddings.size(1),
                         Options{.padding_idx = options.padding_idx,
                                 .max_norm = options.max_norm,
                                 .norm_type = options.norm_type,
                                 .scale_grad_by_freq = options.scale_grad_by_freq,
                                 .sparse = options.sparse,
                                 .weight = embeddings,
                                 .freeze = options.freeze});
}

void Embedding::reset_parameters() {
  const detail::Guard guard(*this, "reset_parameters() was running");
  init::normal_(weight);
  if (!padding_idx) return;
  const NoGradScope no_grad;
  weight.get()[*padding_idx].fill_(0);
}

std::string Embedding::extra_repr() const {
  std::string text = concat(num_embeddings, ", ", embedding_dim);
  if (padding_idx) text += concat(", padding_idx=", *padding_idx);
  if (max_norm) text += concat(", max_norm=", *max_norm);
  if (norm_type != 2) text += concat(", norm_type=", norm_type);
  if (scale_grad_by_freq) text += ", scale_grad_by_freq=True";
  if (sparse) text += ", sparse=True";
  return text;
}

Tensor Embedding::forward(const Tensor& input) {
  return embedding(input, weight,
                   {.padding_idx = padding_idx,
                    .max_norm = max_norm,
                    .norm_type = norm_type,
                    .scale_grad_by_freq = scale_grad_by_freq,
                    .sparse = sparse});
}

}  // namespace tenon::nn
