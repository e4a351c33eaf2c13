#include "io/survey.h"

#include "io/tensors.h"

namespace tenon {

namespace {

// About what is kept of a tensor beside the tensor itself.
std::uint64_t cost_of(const TensorRecord& record) {
  return sizeof(TensorRecord) + ReadMeter::kObject + heap_bytes(record.shape) +
         heap_bytes(record.stride);
}

}  // namespace

Survey::Survey(const Document& document)
    : file_(document.source().name()), meter_(document.meter()) {
  tree_ = document.build(*this, meter_);
}

void Survey::storage(std::uint32_t number, const StorageRecord& record) {
  if (storages_.size() <= number) storages_.resize(number + 1);
  storages_[number] = record;
}
void Survey::element_type(std::uint32_t number, DType dtype) { storages_[number].dtype = dtype; }

Tensor Survey::tensor(const TensorRecord& record) {
  const std::uint64_t bytes =
      record.storage == TensorRecord::kNoStorage ? 0 : storages_[record.storage].nbytes;
  Tensor made =
      tensor_over(record, Storage::without_data(static_cast<std::size_t>(bytes), Device::meta()),
                  Device::meta());
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
  const auto number = static_cast<std::uint32_t>(uninitialized_.size());
  uninitialized_.emplace(made.id(), record).first->second.number = number;
  return made;
}

void Survey::sparse(const Value& sparse) {
  for (auto& [indices, bounds] : index_bounds(sparse, file_)) {
    const TensorRecord& record = records_.at(indices.id());
    // Reading the indices compares each of them with each of these.
    check_not_repeated(
        record.shape, record.dtype,
        record.storage == TensorRecord::kNoStorage ? 0 : storages_[record.storage].nbytes, file_);
    meter_.work(static_cast<std::uint64_t>(record.shape.numel()));
    meter_.memory(ReadMeter::kObject + bounds.most.size() * sizeof(std::int64_t));
    bounds_.emplace(record.number, std::move(bounds));
  }
}

}  // namespace tenon
