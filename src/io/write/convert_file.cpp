#include "tenon/convert.h"

#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/visible.h"
#include "core/autograd_meta.h"
#include "core/body_editor.h"
#include "core/uninitialized.h"
#include "io/formats/open.h"
#include "io/read/choice.h"
#include "io/read/loader.h"
#include "io/read/records.h"
#include "io/read/source.h"
#include "io/read/tree_map.h"
#include "io/read/walk.h"
#include "io/support/shown.h"
#include "io/write/file_payload.h"
#include "io/write/overlay.h"
#include "io/write/saver.h"
#include "tenon/error.h"

namespace tenon {

namespace {

class Conversion {
 public:
  Conversion(Overlay& overlay, const ConvertOptions& options, ReadMeter& meter)
      : overlay_(overlay), options_(options), meter_(meter) {
    for (const auto& [pattern, dtype] : options.dtype_for)
      rules_.emplace_back(matching(pattern), dtype);
  }

  ~Conversion() { meter_.release(passing_); }
  Conversion(const Conversion&) = delete;
  Conversion& operator=(const Conversion&) = delete;

  // The tree with tensors of their new dtypes, and what is said of each.
  Value run(const Value& tree, std::vector<ConvertedTensor>& said) {
    Walk walk(meter_, {});
    walk.visit = [&](const std::string& name, const Tensor& tensor) {
      // Scales and the like of a tensor that is made of several stay what they are.
      const bool part = walk.whole() != std::string_view(name) && !name.ends_with(".values");
      charge(name, said);
      choose(name, tensor, part, said);
    };
    walk.visit_uninitialized = [&](const std::string& name, const Tensor& tensor) {
      charge(name, said);
      const DType old = tensor.dtype();
      const DType chosen = wanted(name, old).value_or(old);
      check_grad(tensor, chosen, name);
      said.push_back({name, name, old, chosen, 0, true});
      decide(Value(tensor).identity(), old, chosen, name);
    };
    walk.run(tree);
    const auto converted = [&](const Tensor& tensor) -> Value {
      if (is_uninitialized(tensor.body())) {
        const auto found = targets_.find(Value(tensor).identity());
        if (found == targets_.end() || found->second.chosen == tensor.dtype()) return tensor;
        meter_.memory(ReadMeter::kTensor);
        return uninitialized_like(tensor, found->second.chosen);
      }
      const auto found = targets_.find(tensor.storage().identity());
      if (found == targets_.end() || !found->second.made.defined()) return tensor;
      Layout layout = tensor.layout();
      meter_.memory(Overlay::kMadeTensor + 2 * heap_bytes(layout.shape));
      charge_attributes(tensor);
      layout.dtype = found->second.chosen;
      return overlay_.tensor(tensor, layout, found->second.made);
    };
    return mapped_tensors(tree, converted, meter_);
  }

 private:
  // What is said of a tensor has its name twice, and what is decided of it once.
  void charge(const std::string& name, const std::vector<ConvertedTensor>& said) {
    charge_growth(meter_, said);
    meter_.memory(2 * name.size());
    const std::uint64_t decided = sizeof(Target) + name.size() + ReadMeter::kObject;
    meter_.memory(decided);
    passing_ += decided;
  }
  // The new tensor has its own.
  void charge_attributes(const Tensor& tensor) {
    const auto* attributes = BodyEditor::attributes(tensor.body());
    if (attributes == nullptr) return;
    for (const auto& [name, value] : attributes->values)
      meter_.text(name.size() + sizeof name + sizeof value);
  }
  // What becomes of a storage, or of a tensor without one, as the first of its names has it.
  struct Target {
    DType old, chosen;
    std::string first;
    Storage made = {};  // if that is another dtype
  };

  std::optional<DType> wanted(const std::string& name, DType dtype) const {
    if (!is_floating_point(dtype) || is_opaque(dtype)) return std::nullopt;
    for (const auto& [matches, chosen] : rules_) {
      if (matches(name)) return chosen;
    }
    return options_.dtype;
  }

  void choose(const std::string& name, const Tensor& tensor, bool part,
              std::vector<ConvertedTensor>& said) {
    const DType old = tensor.dtype();
    const bool stays = part || !overlay_.has_bytes(tensor);
    const DType chosen = stays ? old : wanted(name, old).value_or(old);
    check_grad(tensor, chosen, name);
    if (itemsize(chosen) > itemsize(old)) check_wider(tensor, chosen, name);
    said.push_back(
        {name, name, old, chosen, static_cast<std::uint64_t>(tensor.numel() * itemsize(chosen))});
    if (!overlay_.has_bytes(tensor)) return;
    Target* const target = decide(tensor.storage().identity(), old, chosen, name);
    if (target != nullptr && chosen != old) {
      target->made = overlay_.add(cast_payload(overlay_.storage(tensor), old, chosen),
                                  overlay_.location(tensor));
    }
  }

  // A tensor that repeats its elements may have as many as can be counted in bytes of its own dtype
  // only.
  static void check_wider(const Tensor& tensor, DType chosen, const std::string& name) {
    TensorRecord record;
    record.shape = tensor.layout().shape;
    record.stride = tensor.layout().strides;
    record.offset = tensor.layout().offset;
    record.dtype = chosen;
    const std::string wrong = wrong_geometry(record, kAnyBytes);
    if (!wrong.empty())
      throw ValueError(concat("convert: ", visible(name, kMostShown), " cannot be ",
                              info(chosen).name, ": ", wrong));
  }

  static void check_grad(const Tensor& tensor, DType chosen, const std::string& name) {
    if (!tensor.requires_grad() || is_differentiable(chosen)) return;
    throw ValueError(concat("convert: ", visible(name, kMostShown),
                            " requires grad, which tensors of ", info(chosen).name, " cannot"));
  }

  // Null if it was decided before.
  Target* decide(const void* identity, DType old, DType chosen, const std::string& name) {
    const auto [place, fresh] = targets_.try_emplace(identity, Target{old, chosen, name});
    if (fresh) return &place->second;
    const Target& target = place->second;
    const bool changes = chosen != old || target.chosen != target.old;
    if (!changes || (target.old == old && target.chosen == chosen)) return nullptr;
    throw ValueError(concat("convert: ", visible(name, kMostShown), " would be ", info(chosen).name,
                            " and ", visible(target.first, kMostShown),
                            ", which shares its memory, ", info(target.chosen).name));
  }

  Overlay& overlay_;
  const ConvertOptions& options_;
  ReadMeter& meter_;
  std::vector<std::pair<std::function<bool(std::string_view)>, DType>> rules_;
  std::unordered_map<const void*, Target> targets_;  // by their identities
  std::uint64_t passing_ = 0;                        // what these are charged with
};

// Whoever reads the file knows tensors by their names.
void check_names(const std::vector<ConvertedTensor>& tensors, ReadMeter& meter) {
  const PassingCharge passing(meter);
  meter.memory(tensors.size() * sizeof(std::string_view));
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const ConvertedTensor& one : tensors) names.push_back(one.new_name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return;
  throw ValueError(concat("convert: two tensors would be named ", shown(*twice),
                          " when keys are joined by dots: choose with .filter, or rename one"));
}

}  // namespace

ConvertReport convert(const std::string& from, const std::string& given_to,
                      const ConvertOptions& given_options) {
  // Filters and who is told of progress may destroy what they were given in.
  const std::string to = given_to;
  const ConvertOptions options = given_options;
  const auto document = open_path(from, {false, options.follow_links, options.limits});
  LoadOptions reading;
  reading.path = options.path;
  reading.filter = options.filter;
  LeftInFile left;
  // One for all of it: what was read is there until the last byte is written.
  ReadMeter meter = document->meter();
  Value tree = load_document(*document, nullptr, reading, meter, &left);
  document->let_go(meter);
  FileSupply files(left, options.any_size);
  Overlay overlay(files);
  ConvertReport report;
  tree = Conversion(overlay, options, meter).run(tree, report.tensors);
  if (!options.rename.empty()) {
    tree = renamed(tree, options.rename, &meter);
    // In the same order: renaming is about keys of the dict, whatever is below them.
    std::size_t i = 0;
    const auto rename = [&](const std::string& name, const Tensor&) {
      meter.memory(name.size());
      report.tensors[i++].new_name = name;
    };
    Walk walk(meter, rename);
    walk.visit_uninitialized = rename;
    walk.run(tree);
  }
  check_names(report.tensors, meter);
  static_cast<SaveReport&>(report) =
      save_with(FileSystem::system(), {overlay, meter, options.memory}, tree, to, options.save);
  return report;
}

}  // namespace tenon
