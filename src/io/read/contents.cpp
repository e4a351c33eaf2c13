#include "io/read/contents.h"

#include <string>
#include <string_view>

#include "io/read/tensors.h"
#include "io/read/walk.h"

namespace tenon {

Contents::Contents(const Survey& survey, ReadMeter& meter) {
  meter.memory(survey.storages().size() * sizeof(StorageFacts));
  storages.reserve(survey.storages().size());
  for (const StorageRecord& record : survey.storages()) {
    meter.memory(record.source->name().size() + record.key.size() + record.location.size());
    storages.push_back({record.source->name(), record.key, record.location, record.nbytes,
                        record.offset, record.stored, record.deflated, is_mappable(record)});
  }
  charge_growth(meter, tensors, survey.tensors());
  tensors.reserve(survey.tensors());
  Walk walk(meter, [&](const std::string& name, const Tensor& tensor) {
    const TensorRecord& record = survey.record(tensor);
    const std::string_view device = record.storage == TensorRecord::kNoStorage
                                        ? "meta"
                                        : survey.storages()[record.storage].location;
    meter.memory(sizeof(TensorRecord*) + sizeof(std::uint32_t) + name.size() + device.size() +
                 heap_bytes(record.shape) + heap_bytes(record.stride));
    charge_growth(meter, tensors);
    tensors.push_back({name, record.dtype, record.shape, record.stride, record.offset,
                       std::string(device), record.requires_grad, record.parameter, record.conj,
                       record.neg, record.storage});
    records.push_back(&record);
  });
  walk.visit_uninitialized = [&](const std::string& name, const Tensor& tensor) {
    const UninitializedRecord& record = survey.uninitialized_record(tensor);
    meter.memory(2 * name.size() + ReadMeter::kObject);
    charge_growth(meter, uninitialized);
    uninitialized.push_back(
        {name, record.dtype, record.device.str(), record.requires_grad, record.parameter});
  };
  walk.run(survey.tree());
}

}  // namespace tenon
