// Trees of values with everything in them that a Value can hold, made from a seed: what properties
// of saving are tested with.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon {

// Parts that no reader gives.
struct OddParts {
  bool names = false;     // objects whose names are made to do harm, text that is not UTF-8
  bool parts = false;     // sparse, quantised and nested tensors with a part that is another
  bool keys = false;      // keys and members of sets that are no plain values
  bool integers = false;  // of about 1024 bytes
  bool storages = false;  // bytes that are no whole elements, several dtypes over the same
  bool metadata = false;  // a state dict's metadata with attributes of its own

  bool any() const noexcept { return names || parts || keys || integers || storages || metadata; }
};

class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed, const OddParts& odd = {}) : random_(seed), odd_(odd) {}

  Value tree() { return container(0); }
  // A Counter is read as the dict that it is, and so is not the value that was saved.
  bool has_counter() const noexcept { return has_counter_; }

 private:
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : random_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  Value value(int depth);
  Value container(int depth);
  Value plain();
  Value key();
  Value attributes(int depth);
  std::vector<Value> items(int depth);
  std::vector<Value::Entry> entries(int depth);
  std::int64_t integer();
  double real();
  double plain_real();
  std::string text();

  Tensor tensor(int depth);
  Tensor over(Storage storage, DType dtype);
  Tensor filled(const Shape& shape, DType dtype);
  Tensor counted(std::vector<std::int64_t> numbers, const Shape& shape);
  Value sparse();
  Value compressed();
  Value quantized();
  Value nested();
  Value composite();
  Value odd_value(int depth);
  Value odd_name();
  Value odd_key(int depth);
  Value odd_composite(int depth);

  std::mt19937_64 random_;
  OddParts odd_;
  bool has_counter_ = false;
  std::vector<Value> made_;      // some of them come again
  std::vector<Tensor> tensors_;  // some of them share their storages
};

}  // namespace tenon
