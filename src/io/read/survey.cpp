#include "io/read/survey.h"

#include "io/read/tensors.h"

namespace tenon {

namespace {

// About what is kept of a tensor beside the tensor itself.
std::uint64_t cost_of(const TensorRecord& record) {
  return sizeof(TensorRecord) + ReadMeter::kObject + heap_bytes(record.shape) +
         heap_bytes(record.stride);
}

}  // namespace

Survey::Survey(const Document& document, ReadMeter& meter)
    : file_(document.source().name()), meter_(meter) {
  tree_ = document.build(*this, meter_);
}

void Survey::storage(std::uint32_t number, const StorageRecord& record) {
  charge_growth(meter_, storages_);
  if (storages_.size() <= number) storages_.resize(number + 1);
  storages_[number] = record;
}
void Survey::element_type(std::uint32_t number, DType dtype) { storages_[number].dtype = dtype; }

Storage Survey::memory_of(const TensorRecord& record) {
  if (record.storage == TensorRecord::kNoStorage) return Storage::without_data(0, Device::meta());
  if (memory_.size() < storages_.size()) {
    charge_growth(meter_, memory_, storages_.size() - memory_.size());
    memory_.resize(storages_.size());
  }
  Storage& memory = memory_[record.storage];
  if (!memory.defined()) {
    const auto bytes = static_cast<std::size_t>(storages_[record.storage].nbytes);
    memory = Storage::without_data(bytes, Device::meta());
  }
  return memory;
}

Tensor Survey::tensor(const TensorRecord& record) {
  Tensor made = tensor_over(record, memory_of(record), Device::meta());
  meter_.memory(cost_of(record));
  TensorRecord& kept = records_.emplace(made.id(), record).first->second;
  kept.number = made_++;
  return made;
}

Tensor Survey::parameter(const Tensor& data, bool requires_grad) {
  Tensor made = parameter_over(data, requires_grad);
  TensorRecord record = records_.at(data.id());
  meter_.memory(cost_of(record));
  record.parameter = true;
  record.requires_grad = requires_grad;
  records_.emplace(made.id(), std::move(record));
  return made;
}

// They are nowhere in the file, and need not be on meta. Elsewhere there may be no device for them.
Tensor Survey::uninitialized(const UninitializedRecord& record) {
  Tensor made = uninitialized_on(record.device.is_meta() ? Device::meta() : Device::cpu(), record);
  meter_.memory(sizeof(UninitializedRecord) + ReadMeter::kObject);
  const auto number = static_cast<std::uint32_t>(uninitialized_.size());
  uninitialized_.emplace(made.id(), record).first->second.number = number;
  return made;
}

void Survey::sparse(const Value& sparse) {
  for (auto& [indices, bounds] : index_bounds(sparse, file_)) {
    const TensorRecord& record = records_.at(indices.id());
    if (record.storage == TensorRecord::kNoStorage) continue;  // there is nothing to read
    // Reading the indices compares each of them with each of these.
    check_not_repeated(record.shape, record.dtype, storages_[record.storage].nbytes, file_);
    meter_.work(static_cast<std::uint64_t>(record.shape.numel()));
    meter_.memory(2 * ReadMeter::kObject + bounds.most.size() * sizeof(std::int64_t));
    add_bounds(bounds_[record.number], std::move(bounds));
  }
}

}  // namespace tenon
