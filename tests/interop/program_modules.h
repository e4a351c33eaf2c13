// The modules and user-defined tensors of module programs: those of tests/interop/module_world.py.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/extend.h"
#include "tenon/tenon.h"

namespace programs {

// A payload and a factor, as the recipe about swapping has it.
class Scaled final : public tenon::Wrapper<Scaled> {
 public:
  Scaled(tenon::Tensor payload, double factor)
      : Wrapper(payload), elem(std::move(payload)), scale(factor) {}
  std::optional<tenon::Value> dispatch(const tenon::OpCall& call) const override;
  std::optional<tenon::Tensor> module_load(const tenon::Tensor& dest, const tenon::Tensor& src,
                                           bool assign) const override;
  void for_each_payload(const std::function<void(const tenon::Tensor&)>& visit) const override {
    visit(elem);
  }
  tenon::Tensor elem;
  double scale;
};

// "2x3", and "-" for no dimensions.
tenon::Shape shape_of(const std::string& words);
// Numbers that every dtype has, as float64.
tenon::Tensor pattern(const tenon::Shape& shape, std::int64_t seed);

// One of torch.nn's, or of the project's own, from numbers. Null if it is made of other modules.
std::shared_ptr<tenon::nn::Module> make_leaf(const std::string& kind,
                                             const std::vector<std::string>& numbers);

}  // namespace programs
