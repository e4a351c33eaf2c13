// Every lazy class of torch.nn with the plain one it becomes, for tests that walk them all.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::nn {

struct LazyClass {
  std::string lazy, plain;  // their names
  std::string before;       // the text of the lazy one, as PyTorch 2.14.1 prints it
  Shape input;
  std::function<std::shared_ptr<Module>()> make_lazy, make_plain;
  std::string size;  // what it infers: how it says so in its text, once it knows
};

inline std::vector<LazyClass> lazy_classes() {
  std::vector<LazyClass> all;
  const auto add = [&]<class L, class P>(std::type_identity<L>, std::type_identity<P>,
                                         const std::string& before, const Shape& input, auto lazy,
                                         auto plain, const std::string& size) {
    all.push_back({class_name_of(typeid(L)), class_name_of(typeid(P)), before, input,
                   [lazy]() -> std::shared_ptr<Module> { return lazy(); },
                   [plain]() -> std::shared_ptr<Module> { return plain(); }, size});
  };
#define TENON_LAZY(L, P, text, shape, lazy, plain, size)                                        \
  add(                                                                                          \
      std::type_identity<L>(), std::type_identity<P>(), text, Shape shape, [] { return lazy; }, \
      [] { return plain; }, size)
  TENON_LAZY(LazyLinear, Linear, "LazyLinear(in_features=0, out_features=6, bias=True)", ({4, 5}),
             make<LazyLinear>(6), make<Linear>(5, 6), "in_features=5");
  TENON_LAZY(LazyLinear, Linear, "LazyLinear(in_features=0, out_features=6, bias=False)",
             ({2, 3, 5}), make<LazyLinear>(6, {.bias = false}), make<Linear>(5, 6, {.bias = false}),
             "in_features=5");
  TENON_LAZY(LazyLinear, Linear, "LazyLinear(in_features=0, out_features=6, bias=True)", ({7}),
             make<LazyLinear>(6, {.dtype = float64}), make<Linear>(7, 6, {.dtype = float64}),
             "in_features=7");
  TENON_LAZY(LazyConv1d, Conv1d, "LazyConv1d(0, 6, kernel_size=(3,), stride=(1,))", ({2, 4, 8}),
             make<LazyConv1d>(6, 3), make<Conv1d>(4, 6, 3), "Conv1d(4, ");
  TENON_LAZY(LazyConv1d, Conv1d, "LazyConv1d(0, 6, kernel_size=(3,), stride=(1,))", ({4, 8}),
             make<LazyConv1d>(6, 3), make<Conv1d>(4, 6, 3), "Conv1d(4, ");
  TENON_LAZY(LazyConv2d, Conv2d, "LazyConv2d(0, 6, kernel_size=(3, 3), stride=(1, 1))",
             ({2, 4, 6, 6}), make<LazyConv2d>(6, 3), make<Conv2d>(4, 6, 3), "Conv2d(4, ");
  TENON_LAZY(
      LazyConv2d, Conv2d,
      "LazyConv2d(0, 6, kernel_size=(3, 2), stride=(2, 2), padding=(1, 1), groups=2, "
      "bias=False, padding_mode=reflect)",
      ({2, 4, 6, 6}),
      (make<LazyConv2d>(
          6, Dims{3, 2},
          ConvOptions{
              .stride = 2, .padding = 1, .groups = 2, .bias = false, .padding_mode = "reflect"})),
      (make<Conv2d>(
          4, 6, Dims{3, 2},
          ConvOptions{
              .stride = 2, .padding = 1, .groups = 2, .bias = false, .padding_mode = "reflect"})),
      "Conv2d(4, ");
  TENON_LAZY(LazyConv3d, Conv3d, "LazyConv3d(0, 6, kernel_size=(3, 3, 3), stride=(1, 1, 1))",
             ({1, 4, 4, 4, 4}), make<LazyConv3d>(6, 3), make<Conv3d>(4, 6, 3), "Conv3d(4, ");
  TENON_LAZY(LazyConvTranspose1d, ConvTranspose1d,
             "LazyConvTranspose1d(0, 6, kernel_size=(3,), stride=(1,))", ({2, 4, 8}),
             make<LazyConvTranspose1d>(6, 3), make<ConvTranspose1d>(4, 6, 3),
             "ConvTranspose1d(4, ");
  TENON_LAZY(LazyConvTranspose2d, ConvTranspose2d,
             "LazyConvTranspose2d(0, 6, kernel_size=(3, 3), stride=(1, 1))", ({4, 5, 5}),
             make<LazyConvTranspose2d>(6, 3), make<ConvTranspose2d>(4, 6, 3),
             "ConvTranspose2d(4, ");
  TENON_LAZY(LazyConvTranspose2d, ConvTranspose2d,
             "LazyConvTranspose2d(0, 6, kernel_size=(3, 3), stride=(2, 2), output_padding=(1, 1), "
             "groups=2)",
             ({2, 4, 5, 5}),
             (make<LazyConvTranspose2d>(
                 6, 3, ConvTransposeOptions{.stride = 2, .output_padding = 1, .groups = 2})),
             (make<ConvTranspose2d>(
                 4, 6, 3, ConvTransposeOptions{.stride = 2, .output_padding = 1, .groups = 2})),
             "ConvTranspose2d(4, ");
  TENON_LAZY(LazyConvTranspose3d, ConvTranspose3d,
             "LazyConvTranspose3d(0, 6, kernel_size=(3, 3, 3), stride=(1, 1, 1))",
             ({1, 4, 3, 3, 3}), make<LazyConvTranspose3d>(6, 3), make<ConvTranspose3d>(4, 6, 3),
             "ConvTranspose3d(4, ");
#define TENON_LAZY_NORM(D, B, shape)                                                              \
  for (const bool affine : {true, false}) {                                                       \
    for (const bool tracks : {true, false}) {                                                     \
      const std::string text = std::string("(0, eps=1e-05, momentum=0.1, affine=") +              \
                               (affine ? "True, bias=True" : "False, bias=False") +               \
                               ", track_running_stats=" + (tracks ? "True)" : "False)");          \
      const std::string channels = "d(4, ";                                                       \
      add(                                                                                        \
          std::type_identity<Lazy##B##D>(), std::type_identity<B##D>(), "Lazy" #B #D + text,      \
          Shape shape,                                                                            \
          [=] {                                                                                   \
            return make<Lazy##B##D>(                                                              \
                BatchNormOptions{.affine = affine, .track_running_stats = tracks});               \
          },                                                                                      \
          [=] {                                                                                   \
            return make<B##D>(4, B##D::Options{.affine = affine, .track_running_stats = tracks}); \
          },                                                                                      \
          channels);                                                                              \
    }                                                                                             \
  }
  TENON_LAZY_NORM(1d, BatchNorm, ({5, 4}))
  TENON_LAZY_NORM(1d, BatchNorm, ({5, 4, 3}))
  TENON_LAZY_NORM(2d, BatchNorm, ({3, 4, 2, 2}))
  TENON_LAZY_NORM(3d, BatchNorm, ({3, 4, 2, 2, 2}))
  TENON_LAZY_NORM(1d, InstanceNorm, ({5, 4, 3}))
  TENON_LAZY_NORM(1d, InstanceNorm, ({4, 3}))
  TENON_LAZY_NORM(2d, InstanceNorm, ({3, 4, 2, 2}))
  TENON_LAZY_NORM(3d, InstanceNorm, ({3, 4, 2, 2, 2}))
#undef TENON_LAZY_NORM
#undef TENON_LAZY
  return all;
}

}  // namespace tenon::nn
