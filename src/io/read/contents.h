// What a checkpoint says of its tensors and storages, without any of their bytes.
#pragma once

#include <vector>

#include "io/read/survey.h"
#include "tenon/checkpoint.h"

namespace tenon {

struct Contents {
  // Charged to the meter. The survey outlives it. FormatError for names that are too long.
  Contents(const Survey& survey, ReadMeter& meter);

  std::vector<TensorFacts> tensors;
  std::vector<const TensorRecord*> records;  // of the same, in the survey
  std::vector<UninitializedFacts> uninitialized;
  std::vector<StorageFacts> storages;
};

}  // namespace tenon
