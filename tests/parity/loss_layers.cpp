// Activations and losses by name.
#include "parity/layer_cases.h"

namespace tenon::parity {

namespace {

template <class L>
Made plain(const Words&, const Named&) {
  return layer(std::make_shared<L>());
}
template <class L>
Made inplace(const Words& w, const Named&) {
  return layer(std::make_shared<L>(typename L::Options{.inplace = w.flag("inplace", false)}));
}
template <class L>
Made alpha(const Words& w, const Named&) {
  return layer(std::make_shared<L>(
      AlphaInplaceOptions{.alpha = w.real("alpha", 1), .inplace = w.flag("inplace", false)}));
}
template <class L>
Made lambd(const Words& w, const Named&) {
  return layer(std::make_shared<L>(LambdOptions{.lambd = w.real("lambd", 0.5)}));
}
template <class L>
Made along(const Words& w, const Named&) {
  return layer(std::make_shared<L>(nn::DimOption{.dim = w.maybe_whole("dim")}));
}

// Losses of two tensors whose only option is the reduction, and those with a weight too.
template <class L>
Made reduced(const Words& w, const Named&) {
  const std::string reduction = w.text("reduction", "mean");
  return layer_of_two(std::make_shared<L>(ReductionOptions{.reduction = reduction}));
}
template <class L>
Made weighted(const Words& w, const Named& t) {
  const std::string reduction = w.text("reduction", "mean");
  return layer_of_two(
      std::make_shared<L>(WeightOptions{.weight = t.at("option:weight"), .reduction = reduction}));
}
template <class L>
Made with_margin(const Words& w, const Named&) {
  const std::string reduction = w.text("reduction", "mean");
  return layer_of_three(
      std::make_shared<L>(MarginOptions{.margin = w.real("margin", 0), .reduction = reduction}));
}

}  // namespace

const std::map<std::string, Factory>& activation_layers() {
  static const std::map<std::string, Factory> all = {
      {"ReLU", inplace<nn::ReLU>},
      {"ReLU6", inplace<nn::ReLU6>},
      {"SiLU", inplace<nn::SiLU>},
      {"Mish", inplace<nn::Mish>},
      {"SELU", inplace<nn::SELU>},
      {"Hardswish", inplace<nn::Hardswish>},
      {"Hardsigmoid", inplace<nn::Hardsigmoid>},
      {"Sigmoid", plain<nn::Sigmoid>},
      {"Tanh", plain<nn::Tanh>},
      {"LogSigmoid", plain<nn::LogSigmoid>},
      {"Softsign", plain<nn::Softsign>},
      {"Tanhshrink", plain<nn::Tanhshrink>},
      {"Softmax2d", plain<nn::Softmax2d>},
      {"ELU", alpha<nn::ELU>},
      {"CELU", alpha<nn::CELU>},
      {"Hardshrink", lambd<nn::Hardshrink>},
      {"Softshrink", lambd<nn::Softshrink>},
      {"Softmax", along<nn::Softmax>},
      {"LogSoftmax", along<nn::LogSoftmax>},
      {"Softmin", along<nn::Softmin>},
      {"GLU",
       [](const Words& w, const Named&) {
         return layer(std::make_shared<nn::GLU>(nn::GLUOptions{.dim = w.whole("dim", -1)}));
       }},
      {"LeakyReLU",
       [](const Words& w, const Named&) {
         return layer(std::make_shared<nn::LeakyReLU>(
             nn::LeakyReLUOptions{.negative_slope = w.real("negative_slope", 0.01),
                                  .inplace = w.flag("inplace", false)}));
       }},
      {"Hardtanh",
       [](const Words& w, const Named&) {
         return layer(std::make_shared<nn::Hardtanh>(
             nn::HardtanhOptions{.min_val = w.real("min_val", -1),
                                 .max_val = w.real("max_val", 1),
                                 .inplace = w.flag("inplace", false)}));
       }},
      {"Threshold",
       [](const Words& w, const Named&) {
         return layer(std::make_shared<nn::Threshold>(
             w.real("threshold", 0), w.real("value", 0),
             nn::ThresholdOptions{.inplace = w.flag("inplace", false)}));
       }},
      {"RReLU",
       [](const Words& w, const Named&) {
         return layer(
             std::make_shared<nn::RReLU>(nn::RReLUOptions{.lower = w.real("lower", 1. / 8),
                                                          .upper = w.real("upper", 1. / 3),
                                                          .inplace = w.flag("inplace", false)}));
       }},
      {"PReLU",
       [](const Words& w, const Named&) {
         return layer(std::make_shared<nn::PReLU>(
             nn::PReLUOptions{.num_parameters = w.whole("num_parameters", 1)}));
       }},
      {"GELU",
       [](const Words& w, const Named&) {
         const std::string approximate = w.text("approximate", "none");
         return layer(std::make_shared<nn::GELU>(nn::GELUOptions{.approximate = approximate}));
       }},
      {"Softplus",
       [](const Words& w, const Named&) {
         return layer(std::make_shared<nn::Softplus>(
             nn::SoftplusOptions{.beta = w.real("beta", 1), .threshold = w.real("threshold", 20)}));
       }},
  };
  return all;
}

const std::map<std::string, Factory>& loss_layers() {
  static const std::map<std::string, Factory> all = {
      {"MSELoss", reduced<nn::MSELoss>},
      {"L1Loss", reduced<nn::L1Loss>},
      {"SoftMarginLoss", reduced<nn::SoftMarginLoss>},
      {"MultiLabelMarginLoss", reduced<nn::MultiLabelMarginLoss>},
      {"BCELoss", weighted<nn::BCELoss>},
      {"MultiLabelSoftMarginLoss", weighted<nn::MultiLabelSoftMarginLoss>},
      {"MarginRankingLoss", with_margin<nn::MarginRankingLoss>},
      {"CosineEmbeddingLoss", with_margin<nn::CosineEmbeddingLoss>},
      {"SmoothL1Loss",
       [](const Words& w, const Named&) {
         const std::string reduction = w.text("reduction", "mean");
         return layer_of_two(std::make_shared<nn::SmoothL1Loss>(
             nn::SmoothL1LossOptions{.reduction = reduction, .beta = w.real("beta", 1)}));
       }},
      {"HuberLoss",
       [](const Words& w, const Named&) {
         const std::string reduction = w.text("reduction", "mean");
         return layer_of_two(std::make_shared<nn::HuberLoss>(
             nn::HuberLossOptions{.reduction = reduction, .delta = w.real("delta", 1)}));
       }},
      {"HingeEmbeddingLoss",
       [](const Words& w, const Named&) {
         const std::string reduction = w.text("reduction", "mean");
         return layer_of_two(std::make_shared<nn::HingeEmbeddingLoss>(
             nn::HingeEmbeddingLossOptions{.margin = w.real("margin", 1), .reduction = reduction}));
       }},
      {"KLDivLoss",
       [](const Words& w, const Named&) {
         const std::string reduction = w.text("reduction", "mean");
         return layer_of_two(std::make_shared<nn::KLDivLoss>(nn::KLDivLossOptions{
             .reduction = reduction, .log_target = w.flag("log_target", false)}));
       }},
      {"PoissonNLLLoss",
       [](const Words& w, const Named&) {
         const std::string reduction = w.text("reduction", "mean");
         return layer_of_two(std::make_shared<nn::PoissonNLLLoss>(
             nn::PoissonNLLLossOptions{.log_input = w.flag("log_input", true),
                                       .full = w.flag("full", false),
                                       .eps = w.real("eps", 1e-8),
                                       .reduction = reduction}));
       }},
      {"BCEWithLogitsLoss",
       [](const Words& w, const Named& t) {
         const std::string reduction = w.text("reduction", "mean");
         return layer_of_two(std::make_shared<nn::BCEWithLogitsLoss>(
             nn::BCEWithLogitsLossOptions{.weight = t.at("option:weight"),
                                          .reduction = reduction,
                                          .pos_weight = t.at("option:pos_weight")}));
       }},
      {"CrossEntropyLoss",
       [](const Words& w, const Named& t) {
         const std::string reduction = w.text("reduction", "mean");
         return layer_of_two(std::make_shared<nn::CrossEntropyLoss>(
             nn::CrossEntropyLossOptions{.weight = t.at("option:weight"),
                                         .ignore_index = w.whole("ignore_index", -100),
                                         .reduction = reduction,
                                         .label_smoothing = w.real("label_smoothing", 0)}));
       }},
      {"NLLLoss",
       [](const Words& w, const Named& t) {
         const std::string reduction = w.text("reduction", "mean");
         return layer_of_two(std::make_shared<nn::NLLLoss>(
             nn::NLLLossOptions{.weight = t.at("option:weight"),
                                .ignore_index = w.whole("ignore_index", -100),
                                .reduction = reduction}));
       }},
      {"MultiMarginLoss",
       [](const Words& w, const Named& t) {
         const std::string reduction = w.text("reduction", "mean");
         return layer_of_two(std::make_shared<nn::MultiMarginLoss>(
             nn::MultiMarginLossOptions{.p = w.whole("p", 1),
                                        .margin = w.real("margin", 1),
                                        .weight = t.at("option:weight"),
                                        .reduction = reduction}));
       }},
      {"GaussianNLLLoss",
       [](const Words& w, const Named&) {
         const std::string reduction = w.text("reduction", "mean");
         return layer_of_three(std::make_shared<nn::GaussianNLLLoss>(nn::GaussianNLLLossOptions{
             .full = w.flag("full", false), .eps = w.real("eps", 1e-6), .reduction = reduction}));
       }},
      {"TripletMarginLoss",
       [](const Words& w, const Named&) {
         const std::string reduction = w.text("reduction", "mean");
         return layer_of_three(std::make_shared<nn::TripletMarginLoss>(
             nn::TripletMarginLossOptions{.margin = w.real("margin", 1),
                                          .p = w.real("p", 2),
                                          .eps = w.real("eps", 1e-6),
                                          .swap = w.flag("swap", false),
                                          .reduction = reduction}));
       }},
      {"TripletMarginWithDistanceLoss",
       [](const Words& w, const Named&) {
         const std::string reduction = w.text("reduction", "mean");
         return layer_of_three(std::make_shared<nn::TripletMarginWithDistanceLoss>(
             nn::TripletMarginWithDistanceLossOptions{.margin = w.real("margin", 1),
                                                      .swap = w.flag("swap", false),
                                                      .reduction = reduction}));
       }},
      {"CosineSimilarity",
       [](const Words& w, const Named&) {
         return layer_of_two(std::make_shared<nn::CosineSimilarity>(
             nn::CosineSimilarityOptions{.dim = w.whole("dim", 1), .eps = w.real("eps", 1e-8)}));
       }},
      {"PairwiseDistance",
       [](const Words& w, const Named&) {
         return layer_of_two(std::make_shared<nn::PairwiseDistance>(
             nn::PairwiseDistanceOptions{.p = w.real("p", 2),
                                         .eps = w.real("eps", 1e-6),
                                         .keepdim = w.flag("keepdim", false)}));
       }},
  };
  return all;
}

}  // namespace tenon::parity
