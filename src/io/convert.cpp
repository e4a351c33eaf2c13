#include "tenon/convert.h"

#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/visible.h"
#include "core/uninitialized.h"
#include "io/choice.h"
#include "io/document.h"
#include "io/file_payload.h"
#include "io/loader.h"
#include "io/overlay.h"
#include "io/records.h"
#include "io/saver.h"
#include "io/source.h"
#include "io/tree_map.h"
#include "io/walk.h"
#include "tenon/error.h"

namespace tenon {

namespace {

constexpr std::size_t kMostShown = 200;  // of a name in a message

class Conversion {
 public:
  Conversion(const Document& document, Overlay& overlay, const ConvertOptions& options)
      : document_(document), overlay_(overlay), options_(options) {
    for (const auto& [pattern, dtype] : options.dtype_for)
      rules_.emplace_back(matching(pattern), dtype);
  }

  // The tree with tensors of their new dtypes, and what is said of each.
  Value run(const Value& tree, std::vector<ConvertedTensor>& said) {
    ReadMeter meter = document_.meter();
    Walk walk(meter, {});
    walk.visit = [&](const std::string& name, const Tensor& tensor) {
      // Scales and the like of a tensor that is made of several stay what they are.
      const bool part = walk.whole() != std::string_view(name) && !name.ends_with(".values");
      charge(meter, name);
      choose(name, tensor, part, said);
    };
    walk.visit_uninitialized = [&](const std::string& name, const Tensor& tensor) {
      charge(meter, name);
      const DType old = tensor.dtype();
      const DType chosen = wanted(name, old).value_or(old);
      check_grad(tensor, chosen, name);
      said.push_back({name, name, old, chosen, 0, true});
      decide(Value(tensor).identity(), old, chosen, name);
    };
    walk.run(tree);
    return mapped_tensors(tree, [&](const Tensor& tensor) -> Value {
      if (is_uninitialized(tensor.body())) {
        const auto found = targets_.find(Value(tensor).identity());
        if (found == targets_.end() || found->second.chosen == tensor.dtype()) return tensor;
        return uninitialized_like(tensor, found->second.chosen);
      }
      const auto found = targets_.find(tensor.storage().identity());
      if (found == targets_.end() || !found->second.made.defined()) return tensor;
      Layout layout = tensor.layout();
      layout.dtype = found->second.chosen;
      return overlay_.tensor(tensor, layout, found->second.made);
    });
  }

 private:
  // What is said of a tensor has its name twice, and so has what is decided of it.
  static void charge(ReadMeter& meter, const std::string& name) {
    meter.memory(sizeof(ConvertedTensor) + sizeof(Target) + 3 * name.size() +
                 2 * ReadMeter::kObject);
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

  const Document& document_;
  Overlay& overlay_;
  const ConvertOptions& options_;
  std::vector<std::pair<std::function<bool(std::string_view)>, DType>> rules_;
  std::unordered_map<const void*, Target> targets_;  // by their identities
};

}  // namespace

ConvertReport convert(const std::string& from, const std::string& to,
                      const ConvertOptions& options) {
  const auto document = open_path(from, {false, options.follow_links, options.limits});
  LoadOptions reading;
  reading.path = options.path;
  reading.filter = options.filter;
  LeftInFile left;
  Value tree = load_document(*document, nullptr, reading, &left);
  FileSupply files(left, options.any_size);
  Overlay overlay(files);
  ConvertReport report;
  tree = Conversion(*document, overlay, options).run(tree, report.tensors);
  if (!options.rename.empty()) {
    tree = renamed(tree, options.rename);
    // In the same order: renaming is about keys of the dict, whatever is below them.
    std::size_t i = 0;
    const auto rename = [&](const std::string& name, const Tensor&) {
      report.tensors[i++].new_name = name;
    };
    ReadMeter meter = document->meter();
    Walk walk(meter, rename);
    walk.visit_uninitialized = rename;
    walk.run(tree);
  }
  static_cast<SaveReport&>(report) =
      save_with(FileSystem::system(), overlay, tree, to, options.save, options.memory);
  return report;
}

}  // namespace tenon
