// Layers that make what passes larger at its edges (tenon/ops/padding.h).
//
//   nn::ReflectionPad2d mirrored(3);                    // 3 on every side
//   nn::ConstantPad1d marked({0, 4}, -1);               // 4 at the end
#pragma once

#include <cstddef>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"
#include "tenon/scalar.h"

namespace tenon::nn {

// What they have in common. One number is for every side; else there are two for each dimension,
// the last dimension first, and ValueError for another count.
class TENON_API PadLayer : public Layer {
 public:
  std::string extra_repr() const override;

  Dims padding;

 protected:
  PadLayer(const Dims& padding, std::size_t dims, const char* mode);
  Tensor forward(const Tensor& input) override;

 private:
  const char* mode_;
};

class TENON_API ConstantPadLayer : public PadLayer {
 public:
  std::string extra_repr() const override;

  Scalar value;

 protected:
  ConstantPadLayer(const Dims& padding, std::size_t dims, const Scalar& value);
  Tensor forward(const Tensor& input) override;
};

class TENON_API ConstantPad1d : public ConstantPadLayer {
 public:
  ConstantPad1d(const Dims& padding_, const Scalar& value_)
      : ConstantPadLayer(padding_, 1, value_) {}
};
class TENON_API ConstantPad2d : public ConstantPadLayer {
 public:
  ConstantPad2d(const Dims& padding_, const Scalar& value_)
      : ConstantPadLayer(padding_, 2, value_) {}
};
class TENON_API ConstantPad3d : public ConstantPadLayer {
 public:
  ConstantPad3d(const Dims& padding_, const Scalar& value_)
      : ConstantPadLayer(padding_, 3, value_) {}
};

class TENON_API ZeroPad1d : public PadLayer {
 public:
  explicit ZeroPad1d(const Dims& padding_) : PadLayer(padding_, 1, "constant") {}
};
class TENON_API ZeroPad2d : public PadLayer {
 public:
  explicit ZeroPad2d(const Dims& padding_) : PadLayer(padding_, 2, "constant") {}
};
class TENON_API ZeroPad3d : public PadLayer {
 public:
  explicit ZeroPad3d(const Dims& padding_) : PadLayer(padding_, 3, "constant") {}
};

class TENON_API ReflectionPad1d : public PadLayer {
 public:
  explicit ReflectionPad1d(const Dims& padding_) : PadLayer(padding_, 1, "reflect") {}
};
class TENON_API ReflectionPad2d : public PadLayer {
 public:
  explicit ReflectionPad2d(const Dims& padding_) : PadLayer(padding_, 2, "reflect") {}
};
class TENON_API ReflectionPad3d : public PadLayer {
 public:
  explicit ReflectionPad3d(const Dims& padding_) : PadLayer(padding_, 3, "reflect") {}
};

class TENON_API ReplicationPad1d : public PadLayer {
 public:
  explicit ReplicationPad1d(const Dims& padding_) : PadLayer(padding_, 1, "replicate") {}
};
class TENON_API ReplicationPad2d : public PadLayer {
 public:
  explicit ReplicationPad2d(const Dims& padding_) : PadLayer(padding_, 2, "replicate") {}
};
class TENON_API ReplicationPad3d : public PadLayer {
 public:
  explicit ReplicationPad3d(const Dims& padding_) : PadLayer(padding_, 3, "replicate") {}
};

class TENON_API CircularPad1d : public PadLayer {
 public:
  explicit CircularPad1d(const Dims& padding_) : PadLayer(padding_, 1, "circular") {}

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API CircularPad2d : public PadLayer {
 public:
  explicit CircularPad2d(const Dims& padding_) : PadLayer(padding_, 2, "circular") {}

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API CircularPad3d : public PadLayer {
 public:
  explicit CircularPad3d(const Dims& padding_) : PadLayer(padding_, 3, "circular") {}

 protected:
  Tensor forward(const Tensor& input) override;
};

}  // namespace tenon::nn
