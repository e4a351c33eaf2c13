#include "load/file_load.h"

#include <set>

#include "base/text.h"
#include "load/memory_need.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"
#include "tenon/extend/flattened.h"
#include "tenon/threads.h"

namespace tenon::detail {

bool FileLoad::goes_whole(const LoadItem& item) const {
  const TensorFacts& facts = file_.tensors()[item.index];
  if (item.how != LoadStep::How::replaced) return false;
  const std::uint64_t all = file_.storages()[facts.storage].nbytes;
  const std::uint64_t wanted = wanted_.at(facts.storage);
  if (all > 2 * wanted + (std::uint64_t{1} << 20)) return false;
  // What was lazy gets memory of its own, as it would have it after a first call.
  if (item.action->lazy && !options_.assign && !item.own.is_meta() &&
      (wanted != all || bytes_in_file(item) != all))
    return false;
  return (item.dtype == facts.dtype && item.device.is_cpu()) || shared_.contains(facts.storage);
}

std::uint64_t FileLoad::bytes_of_parts(const Tensor& tensor) {
  const auto body = Ref<Body>::share(&tensor.body());  // flatten() may swap the tensor
  const auto parts = body->is_wrapper() ? body->flatten() : std::nullopt;
  if (!parts) return static_cast<std::uint64_t>(tensor.numel() * itemsize(tensor.dtype()));
  std::uint64_t bytes = 0;
  for (const auto& [name, part] : parts->tensors) bytes += bytes_of_parts(part);
  return bytes;
}

bool FileLoad::is_copied_again(const LoadItem& item) const {
  const TensorFacts& facts = file_.tensors()[item.index];
  if (item.dtype != facts.dtype || !item.device.is_cpu()) return true;
  if (options_.assign) return false;
  const Tensor& own = item.own;
  if (item.action->lazy) {
    const Layout layout{facts.shape, facts.stride, facts.offset, facts.dtype, Device::cpu()};
    return !layout.is_contiguous();
  }
  if (facts.stride != own.stride() && facts.shape.size() == own.shape().size()) return true;
  return !own.is_meta() && item.how != LoadStep::How::mapped && shared_.contains(facts.storage);
}

LoadIntoReport FileLoad::describe() {
  LoadIntoReport report;
  static_cast<nn::IncompatibleKeys&>(report) = plan_.result();
  MemoryNeed need;
  const auto make = [&](std::uint64_t bytes) {
    report.bytes_made += bytes;
    need.keep(bytes);
  };
  std::unordered_set<std::uint32_t> counted;
  std::set<FilePlace> twins;
  for (const LoadItem& item : items_) {
    const TensorFacts& facts = file_.tensors()[item.index];
    const std::uint64_t in_file = bytes_in_file(item);
    const auto made = static_cast<std::uint64_t>(facts.shape.numel() * itemsize(item.dtype));
    const std::uint64_t reading = memory_to_read(file_, item.index, item.dtype, item.device);
    report.steps.push_back({std::string(item.action->key), facts.name, item.how, facts.shape,
                            facts.dtype, item.dtype, item.device, in_file});
    switch (item.how) {
      case LoadStep::How::copied:
        report.bytes_read += verifies() && !options_.full_staging ? 2 * in_file : in_file;
        if (options_.full_staging) need.keep(made);
        need.pass(reading);
        break;
      case LoadStep::How::mapped:
        if (is_copied_again(item)) make(made);
        break;
      case LoadStep::How::handed:
        // One after another. What its class keeps of it is the class's affair: as much as it has
        // already, if it makes another one.
        report.bytes_read += !plan_.swaps() && verifies() ? 2 * in_file : in_file;
        if (plan_.swaps()) make(bytes_of_parts(item.own));
        need.pass(made + reading);
        break;
      case LoadStep::How::replaced:
        report.bytes_read += in_file;
        if (goes_whole(item)) {
          // With its storage, once.
          const bool again = is_copied_again(item);
          if (counted.insert(facts.storage).second) {
            const std::uint64_t all = file_.storages()[facts.storage].nbytes;
            again ? need.together(all) : make(all);
          }
          if (again) make(made);
        } else if (!shares_with_twin(item) || twins.insert(place_of(item)).second) {
          make(made);
          need.pass(reading);
        }
        break;
    }
  }
  for (const Assembled& one : assembled_) {
    report.steps.push_back({std::string(one.action->key), one.from->name, LoadStep::How::replaced,
                            one.action->value.shape(), one.action->value.dtype(), one.dtype,
                            one.device, one.from->bytes});
    report.bytes_read += one.from->bytes;
    // All of them are read, then converted one after another, by their class.
    const DType saved = one.action->value.dtype();
    std::uint64_t bytes = one.from->bytes;
    if (one.dtype != saved || !one.device.is_cpu()) {
      need.together(bytes);
      bytes = bytes / static_cast<std::uint64_t>(itemsize(saved)) *
              static_cast<std::uint64_t>(itemsize(one.dtype));
    }
    if (options_.assign || one.swapped) {
      make(bytes);
    } else {
      // Copied into what is there, or made over by its class under the swap policy.
      need.keep(bytes);
      if (plan_.swaps()) make(bytes_of_parts(one.own));
    }
  }
  report.peak_bytes = need.peak(static_cast<std::size_t>(get_num_threads()));
  return report;
}

void FileLoad::check_budget(const LoadIntoReport& report) const {
  if (!options_.memory_budget || report.peak_bytes <= *options_.memory_budget) return;
  throw ValueError(concat("load_into: ", report.peak_bytes,
                          " bytes would be needed at once, and the "
                          "budget is ",
                          *options_.memory_budget,
                          ": use .mmap, a smaller .dtype, or copy into a module that has memory"));
}

}  // namespace tenon::detail
