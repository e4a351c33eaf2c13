// What a file has for a parameter, as the parameter needs it.
//
// Note [Sharing in a state dict]
// A file can use each of its parts any number of times: a list in itself twice, level by level, one
// element in every place of a large tensor, one storage under many tensors. So nothing of that is
// converted once for each place it is used in: what is one object, or one storage, stays one for
// all parameters of one dtype and device, and takes as much as the file has of it. What an
// optimizer keeps by name takes as much as the parameter, or is one number: of these each becomes
// one of its own, as in PyTorch, because steps write into them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/storage.h"
#include "tenon/tensor.h"
#include "tenon/value.h"

namespace tenon::optim {

class StateConversion {
 public:
  enum class As : std::uint8_t {
    step,  // a tensor stays as it is
    own,   // a tensor is converted by itself, as steps write into it
    other
  };

  // Tensors get the parameter's dtype, if that is a floating one, and its device; those inside of
  // dicts, lists and tuples too, but for what a dict has as "step". ValueError beyond a thousand
  // levels.
  Value of(const Value& value, const Tensor& parameter, As as);

 private:
  // Of a storage, read as one dtype.
  struct Part {
    Storage storage;         // held, so that no other has its address
    std::int64_t spent = 0;  // elements that have been converted one tensor at a time
    Tensor row;              // all of them
  };
  struct Made {
    Value from;  // held, so that no other has its identity
    Value value;
  };
  struct Target {
    std::optional<DType> dtype;
    Device device;
    std::unordered_map<const void*, Made> made = {};  // by identity
    std::map<std::pair<const void*, DType>, Part> parts = {};
  };

  Target& target_of(const Tensor& parameter);
  Value convert(const Value& value, Target& target, As as, int depth);
  // Over a row of converted elements, if that is what keeps within the bytes of the storage.
  static std::optional<Tensor> over_row(const Tensor& tensor, Target& target);

  std::deque<Target> targets_;
};

}  // namespace tenon::optim
