#include "tenon/nn/embedding_bag.h"

#include "base/text.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/nn/guard.h"
#include "tenon/nn/init.h"
#include "tenon/ops/embedding_bag.h"
#include "tenon/ops/factories.h"

namespace tenon::nn {

EmbeddingBag::EmbeddingBag(std::int64_t rows, std::int64_t columns, const Options& options)
    : num_embeddings(rows),
      embedding_dim(columns),
      max_norm(options.max_norm),
      norm_type(options.norm_type),
      scale_grad_by_freq(options.scale_grad_by_freq),
      mode(options.mode),
      sparse(options.sparse),
      include_last_offset(options.include_last_offset),
      padding_idx(options.padding_idx) {
  if (padding_idx) {
    if (*padding_idx >= rows || *padding_idx < -rows) {
      throw ValueError(concat("padding_idx must be within num_embeddings: it is ", *padding_idx,
                              " and there are ", rows));
    }
    if (*padding_idx < 0) *padding_idx += rows;
  }
  if (options.weight) {
    if (options.weight->shape() != Shape({rows, columns})) {
      throw ShapeError(
          concat("Shape of weight does not match num_embeddings and embedding_dim: it is ",
                 bracketed(options.weight->shape()), " and they are [", rows, ", ", columns, "]"));
    }
    weight = make_parameter(*options.weight);
    return;
  }
  weight =
      make_parameter(empty({rows, columns}, {.dtype = options.dtype, .device = options.device}));
  if (!weight->is_meta()) reset_parameters();
}

std::shared_ptr<EmbeddingBag> EmbeddingBag::from_pretrained(
    const Tensor& embeddings, const EmbeddingBagFromPretrainedOptions& options) {
  if (embeddings.dim() != 2) {
    throw ShapeError(concat("Embeddings parameter is expected to be 2-dimensional, but it is ",
                            bracketed(embeddings.shape())));
  }
  auto bag = make<EmbeddingBag>(embeddings.size(0), embeddings.size(1),
                                Options{.max_norm = options.max_norm,
                                        .norm_type = options.norm_type,
                                        .scale_grad_by_freq = options.scale_grad_by_freq,
                                        .mode = options.mode,
                                        .sparse = options.sparse,
                                        .weight = embeddings,
                                        .include_last_offset = options.include_last_offset,
                                        .padding_idx = options.padding_idx});
  bag->weight->requires_grad_(!options.freeze);
  return bag;
}

void EmbeddingBag::reset_parameters() {
  const detail::Guard guard(*this, "reset_parameters() was running");
  init::normal_(weight);
  if (!padding_idx) return;
  const NoGradScope no_grad;
  weight.get()[*padding_idx].fill_(0);
}

std::string EmbeddingBag::extra_repr() const {
  std::string text = concat(num_embeddings, ", ", embedding_dim);
  if (max_norm) text += concat(", max_norm=", *max_norm);
  if (norm_type != 2) text += concat(", norm_type=", norm_type);
  if (scale_grad_by_freq) text += ", scale_grad_by_freq=True";
  text += concat(", mode='", mode, "'");
  if (padding_idx) text += concat(", padding_idx=", *padding_idx);
  return text;
}

Tensor EmbeddingBag::forward(const Tensor& input, const Tensor& offsets,
                             const Tensor& per_sample_weights) {
  return embedding_bag(input, weight,
                       {.offsets = offsets,
                        .max_norm = max_norm,
                        .norm_type = norm_type,
                        .scale_grad_by_freq = scale_grad_by_freq,
                        .mode = mode,
                        .sparse = sparse,
                        .per_sample_weights = per_sample_weights,
                        .include_last_offset = include_last_offset,
                        .padding_idx = padding_idx});
}

}  // namespace tenon::nn
