// Convolutions, pools, norms and their kin by name.
#include "parity/layer_cases.h"

namespace tenon::parity {

namespace {

template <class L>
Made conv(const Words& w, const Named&) {
  const std::string padding = w.text("padding", "0");
  nn::ConvOptions options{.stride = w.dims("stride", 1),
                          .dilation = w.dims("dilation", 1),
                          .groups = w.whole("groups", 1),
                          .bias = w.flag("bias", true),
                          .padding_mode = w.text("padding_mode", "zeros")};
  options.padding = padding == "same" || padding == "valid" ? ConvPadding(padding)
                                                            : ConvPadding(w.dims("padding", 0));
  return layer(std::make_shared<L>(w.whole("in_channels", 0), w.whole("out_channels", 0),
                                   w.dims("kernel_size", 1), options));
}

template <class L>
Made conv_transpose(const Words& w, const Named&) {
  const auto made = std::make_shared<L>(
      w.whole("in_channels", 0), w.whole("out_channels", 0), w.dims("kernel_size", 1),
      nn::ConvTransposeOptions{.stride = w.dims("stride", 1),
                               .padding = w.dims("padding", 0),
                               .output_padding = w.dims("output_padding", 0),
                               .groups = w.whole("groups", 1),
                               .bias = w.flag("bias", true),
                               .dilation = w.dims("dilation", 1)});
  return {made, [made](const Words& words, const Named& t) {
            return Tensors{(*made)(t.at("0"), words.dims("output_size", {}))};
          }};
}

template <class L>
Made max_pool(const Words& w, const Named&) {
  const auto made = std::make_shared<L>(
      w.dims("kernel_size", 1), nn::MaxPoolOptions{.stride = w.dims("stride", {}),
                                                   .padding = w.dims("padding", 0),
                                                   .dilation = w.dims("dilation", 1),
                                                   .ceil_mode = w.flag("ceil_mode", false)});
  return {made, [made](const Words& words, const Named& t) {
            if (!words.flag("return_indices", false)) return Tensors{(*made)(t.at("0"))};
            const auto [values, indices] = made->with_indices(t.at("0"));
            return Tensors{values, indices};
          }};
}

template <class L>
Made avg_pool(const Words& w, const Named&) {
  typename L::Options options{.stride = w.dims("stride", {}),
                              .padding = w.dims("padding", 0),
                              .ceil_mode = w.flag("ceil_mode", false),
                              .count_include_pad = w.flag("count_include_pad", true)};
  if constexpr (requires { options.divisor_override; })
    options.divisor_override = w.maybe_whole("divisor_override");
  return layer(std::make_shared<L>(w.dims("kernel_size", 1), options));
}

OutputSize output_size(const Words& w) {
  std::vector<OutputSize::Entry> sizes;
  std::istringstream in(w.text("output_size", ""));
  for (std::string item; std::getline(in, item, ',');)
    sizes.push_back(item == "None" ? OutputSize::Entry(std::nullopt)
                                   : OutputSize::Entry(std::stoll(item)));
  if (sizes.size() == 1) return {sizes[0]};
  if (sizes.size() == 2) return {sizes[0], sizes[1]};
  return {sizes[0], sizes[1], sizes[2]};
}

template <class L>
Made adaptive_max_pool(const Words& w, const Named&) {
  const auto made = std::make_shared<L>(output_size(w));
  return {made, [made](const Words& words, const Named& t) {
            if (!words.flag("return_indices", false)) return Tensors{(*made)(t.at("0"))};
            const auto [values, indices] = made->with_indices(t.at("0"));
            return Tensors{values, indices};
          }};
}
template <class L>
Made adaptive_avg_pool(const Words& w, const Named&) {
  return layer(std::make_shared<L>(output_size(w)));
}
template <class L>
Made lp_pool(const Words& w, const Named&) {
  return layer(std::make_shared<L>(
      w.real("norm_type", 2), w.dims("kernel_size", 1),
      nn::LPPoolOptions{.stride = w.dims("stride", {}), .ceil_mode = w.flag("ceil_mode", false)}));
}
template <class L>
Made max_unpool(const Words& w, const Named&) {
  const auto made = std::make_shared<L>(
      w.dims("kernel_size", 1),
      nn::MaxUnpoolOptions{.stride = w.dims("stride", {}), .padding = w.dims("padding", 0)});
  return {made, [made](const Words& words, const Named& t) {
            return Tensors{(*made)(t.at("0"), t.at("1"), words.dims("output_size", {}))};
          }};
}

// Batch norms and instance norms.
template <class L, bool batch>
Made norm(const Words& w, const Named&) {
  return layer(std::make_shared<L>(
      w.whole("num_features", 0),
      typename L::Options{.eps = w.real("eps", 1e-5),
                          .momentum = w.maybe_real("momentum", 0.1),
                          .affine = w.flag("affine", batch),
                          .track_running_stats = w.flag("track_running_stats", batch),
                          .bias = w.flag("bias", true)}));
}
Made layer_norm(const Words& w, const Named&) {
  return layer(std::make_shared<nn::LayerNorm>(
      w.dims("normalized_shape", {}),
      nn::LayerNormOptions{.eps = w.real("eps", 1e-5),
                           .elementwise_affine = w.flag("elementwise_affine", true),
                           .bias = w.flag("bias", true)}));
}
Made rms_norm(const Words& w, const Named&) {
  return layer(std::make_shared<nn::RMSNorm>(
      w.dims("normalized_shape", {}),
      nn::RMSNormOptions{.eps = w.maybe_real("eps", {}),
                         .elementwise_affine = w.flag("elementwise_affine", true)}));
}
Made group_norm(const Words& w, const Named&) {
  return layer(
      std::make_shared<nn::GroupNorm>(w.whole("num_groups", 1), w.whole("num_channels", 1),
                                      nn::GroupNormOptions{.eps = w.real("eps", 1e-5),
                                                           .affine = w.flag("affine", true),
                                                           .bias = w.flag("bias", true)}));
}
Made local_response_norm(const Words& w, const Named&) {
  return layer(std::make_shared<nn::LocalResponseNorm>(
      w.whole("size", 1),
      nn::LocalResponseNormOptions{
          .alpha = w.real("alpha", 1e-4), .beta = w.real("beta", 0.75), .k = w.real("k", 1)}));
}

template <class L>
Made padding(const Words& w, const Named&) {
  return layer(std::make_shared<L>(w.dims("padding", 0)));
}
template <class L>
Made constant_padding(const Words& w, const Named&) {
  return layer(std::make_shared<L>(w.dims("padding", 0), w.real("value", 0)));
}
Made upsample(const Words& w, const Named&) {
  return layer(std::make_shared<nn::Upsample>(
      nn::UpsampleOptions{.size = w.dims("size", {}),
                          .scale_factor = w.reals("scale_factor"),
                          .mode = w.text("mode", "nearest"),
                          .align_corners = w.maybe_flag("align_corners")}));
}
template <class L>
Made upsampling(const Words& w, const Named&) {
  return layer(std::make_shared<L>(nn::Upsampling2dOptions{
      .size = w.dims("size", {}), .scale_factor = w.reals("scale_factor")}));
}
nn::FoldOptions fold_options(const Words& w) {
  return {.dilation = w.dims("dilation", 1),
          .padding = w.dims("padding", 0),
          .stride = w.dims("stride", 1)};
}

}  // namespace

const std::map<std::string, Factory>& convolution_layers() {
  static const std::map<std::string, Factory> all = {
      {"Conv1d", conv<nn::Conv1d>},
      {"Conv2d", conv<nn::Conv2d>},
      {"Conv3d", conv<nn::Conv3d>},
      {"ConvTranspose1d", conv_transpose<nn::ConvTranspose1d>},
      {"ConvTranspose2d", conv_transpose<nn::ConvTranspose2d>},
      {"ConvTranspose3d", conv_transpose<nn::ConvTranspose3d>},
      {"Linear",
       [](const Words& w, const Named&) {
         return layer(
             std::make_shared<nn::Linear>(w.whole("in_features", 0), w.whole("out_features", 0),
                                          nn::LinearOptions{.bias = w.flag("bias", true)}));
       }},
      {"Bilinear",
       [](const Words& w, const Named&) {
         return layer_of_two(std::make_shared<nn::Bilinear>(
             w.whole("in1_features", 0), w.whole("in2_features", 0), w.whole("out_features", 0),
             nn::LinearOptions{.bias = w.flag("bias", true)}));
       }},
      {"Unfold",
       [](const Words& w, const Named&) {
         return layer(std::make_shared<nn::Unfold>(w.dims("kernel_size", 1), fold_options(w)));
       }},
      {"Fold",
       [](const Words& w, const Named&) {
         return layer(std::make_shared<nn::Fold>(w.dims("output_size", 1), w.dims("kernel_size", 1),
                                                 fold_options(w)));
       }},
  };
  return all;
}

const std::map<std::string, Factory>& pooling_layers() {
  static const std::map<std::string, Factory> all = {
      {"MaxPool1d", max_pool<nn::MaxPool1d>},
      {"MaxPool2d", max_pool<nn::MaxPool2d>},
      {"MaxPool3d", max_pool<nn::MaxPool3d>},
      {"AvgPool1d", avg_pool<nn::AvgPool1d>},
      {"AvgPool2d", avg_pool<nn::AvgPool2d>},
      {"AvgPool3d", avg_pool<nn::AvgPool3d>},
      {"AdaptiveAvgPool1d", adaptive_avg_pool<nn::AdaptiveAvgPool1d>},
      {"AdaptiveAvgPool2d", adaptive_avg_pool<nn::AdaptiveAvgPool2d>},
      {"AdaptiveAvgPool3d", adaptive_avg_pool<nn::AdaptiveAvgPool3d>},
      {"AdaptiveMaxPool1d", adaptive_max_pool<nn::AdaptiveMaxPool1d>},
      {"AdaptiveMaxPool2d", adaptive_max_pool<nn::AdaptiveMaxPool2d>},
      {"AdaptiveMaxPool3d", adaptive_max_pool<nn::AdaptiveMaxPool3d>},
      {"LPPool1d", lp_pool<nn::LPPool1d>},
      {"LPPool2d", lp_pool<nn::LPPool2d>},
      {"LPPool3d", lp_pool<nn::LPPool3d>},
      {"MaxUnpool1d", max_unpool<nn::MaxUnpool1d>},
      {"MaxUnpool2d", max_unpool<nn::MaxUnpool2d>},
      {"MaxUnpool3d", max_unpool<nn::MaxUnpool3d>},
  };
  return all;
}

const std::map<std::string, Factory>& norm_layers() {
  static const std::map<std::string, Factory> all = {
      {"BatchNorm1d", norm<nn::BatchNorm1d, true>},
      {"BatchNorm2d", norm<nn::BatchNorm2d, true>},
      {"BatchNorm3d", norm<nn::BatchNorm3d, true>},
      {"InstanceNorm1d", norm<nn::InstanceNorm1d, false>},
      {"InstanceNorm2d", norm<nn::InstanceNorm2d, false>},
      {"InstanceNorm3d", norm<nn::InstanceNorm3d, false>},
      {"LayerNorm", layer_norm},
      {"RMSNorm", rms_norm},
      {"GroupNorm", group_norm},
      {"LocalResponseNorm", local_response_norm},
      {"ConstantPad1d", constant_padding<nn::ConstantPad1d>},
      {"ConstantPad2d", constant_padding<nn::ConstantPad2d>},
      {"ConstantPad3d", constant_padding<nn::ConstantPad3d>},
      {"ZeroPad1d", padding<nn::ZeroPad1d>},
      {"ZeroPad2d", padding<nn::ZeroPad2d>},
      {"ZeroPad3d", padding<nn::ZeroPad3d>},
      {"ReflectionPad1d", padding<nn::ReflectionPad1d>},
      {"ReflectionPad2d", padding<nn::ReflectionPad2d>},
      {"ReflectionPad3d", padding<nn::ReflectionPad3d>},
      {"ReplicationPad1d", padding<nn::ReplicationPad1d>},
      {"ReplicationPad2d", padding<nn::ReplicationPad2d>},
      {"ReplicationPad3d", padding<nn::ReplicationPad3d>},
      {"CircularPad1d", padding<nn::CircularPad1d>},
      {"CircularPad2d", padding<nn::CircularPad2d>},
      {"CircularPad3d", padding<nn::CircularPad3d>},
      {"Upsample", upsample},
      {"UpsamplingNearest2d", upsampling<nn::UpsamplingNearest2d>},
      {"UpsamplingBilinear2d", upsampling<nn::UpsamplingBilinear2d>},
      {"PixelShuffle",
       [](const Words& w, const Named&) {
         return layer(std::make_shared<nn::PixelShuffle>(w.whole("upscale_factor", 1)));
       }},
      {"PixelUnshuffle",
       [](const Words& w, const Named&) {
         return layer(std::make_shared<nn::PixelUnshuffle>(w.whole("downscale_factor", 1)));
       }},
      {"ChannelShuffle",
       [](const Words& w, const Named&) {
         return layer(std::make_shared<nn::ChannelShuffle>(w.whole("groups", 1)));
       }},
  };
  return all;
}

}  // namespace tenon::parity
