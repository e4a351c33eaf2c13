#include "tenon/printing.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "core/alias.h"
#include "core/element_copy.h"
#include "core/number_text.h"
#include "kernels/copy.h"
#include "tenon/autograd.h"
#include "tenon/default_dtype.h"
#include "tenon/error.h"
#include "tenon/tensor.h"

namespace tenon {

namespace {

// Options.

struct SharedOptions {
  std::mutex mutex;
  PrintOptions options;
};

SharedOptions& shared_options() {
  static SharedOptions the_options;
  return the_options;
}

PrintOptions profile_options(std::string_view profile) {
  std::string name(profile);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (name == "default") return {};
  if (name == "short") return {.precision = 2, .edgeitems = 2};
  if (name == "full") return {.threshold = std::numeric_limits<std::int64_t>::max()};
  throw ValueError(
      concat("there is no print profile '", profile, "': default, short and full are"));
}

// Contents.

// Which positions of each dimension are shown.
std::vector<std::vector<std::int64_t>> shown_positions(const Shape& shape,
                                                       const PrintOptions& options,
                                                       bool summarise) {
  std::vector<std::vector<std::int64_t>> shown;
  for (const std::int64_t size : shape) {
    auto& positions = shown.emplace_back();
    for (std::int64_t i = 0; i < size; ++i) {
      if (summarise && size - options.edgeitems > options.edgeitems && i == options.edgeitems)
        i = size - options.edgeitems;
      if (i < size) positions.push_back(i);
    }
  }
  return shown;
}

// The elements at those positions, packed, with conjugation and negation done.
std::vector<std::byte> gather(const Tensor& tensor,
                              const std::vector<std::vector<std::int64_t>>& shown) {
  const Layout& layout = tensor.layout();
  const std::int64_t itemsize = layout.itemsize();
  std::size_t count = 1;
  for (const auto& positions : shown) count *= positions.size();
  std::vector<std::byte> out(count * static_cast<std::size_t>(itemsize));
  const auto* data = static_cast<const std::byte*>(tensor.data_ptr());
  std::vector<std::size_t> at(shown.size(), 0);
  for (std::size_t n = 0; n < count; ++n) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < shown.size(); ++d) offset += shown[d][at[d]] * layout.strides[d];
    // A shape of no dimensions: one element.
    const Operand to{out.data() + n * static_cast<std::size_t>(itemsize), {}, itemsize};
    const Operand from{const_cast<std::byte*>(data) + offset * itemsize, {}, itemsize};
    copy_elements({}, to, layout.dtype, from, layout.dtype, {layout.conj, layout.neg});
    for (std::size_t d = shown.size(); d-- > 0;) {
      if (++at[d] < shown[d].size()) break;
      at[d] = 0;
    }
  }
  return out;
}

// Writes element texts into nested brackets.
class Brackets {
 public:
  Brackets(const Shape& shape, const ElementTexts& elements, const PrintOptions& options,
           bool summarise)
      : shape_(shape), elements_(elements), options_(options), summarise_(summarise) {}

  std::string text(std::size_t indent) { return write(0, indent); }

 private:
  bool cut(std::size_t d) const {
    return summarise_ && shape_[d] - options_.edgeitems > options_.edgeitems;
  }

  std::string write(std::size_t d, std::size_t indent) {
    if (d == shape_.size()) return elements_.texts[next_++];
    if (d + 1 == shape_.size()) return write_row(d, indent);
    std::vector<std::string> parts;
    const std::int64_t shown = cut(d) ? 2 * options_.edgeitems : shape_[d];
    for (std::int64_t i = 0; i < shown; ++i) {
      if (cut(d) && i == options_.edgeitems) parts.emplace_back("...");
      parts.push_back(write(d + 1, indent + 1));
    }
    if (cut(d) && options_.edgeitems == 0) parts.emplace_back("...");
    const std::string between =
        "," + std::string(shape_.size() - d - 1, '\n') + std::string(indent + 1, ' ');
    return "[" + joined(parts, between) + "]";
  }

  std::string write_row(std::size_t d, std::size_t indent) {
    std::vector<std::string> parts;
    const std::int64_t shown = cut(d) ? 2 * options_.edgeitems : shape_[d];
    for (std::int64_t i = 0; i < shown; ++i) {
      if (cut(d) && i == options_.edgeitems) parts.emplace_back(" ...");
      parts.push_back(elements_.texts[next_++]);
    }
    if (cut(d) && options_.edgeitems == 0) parts.emplace_back("...");
    // Python's division rounds down, also when the indent is beyond the line's end.
    const auto room = options_.linewidth - static_cast<std::int64_t>(indent);
    const auto in_line = std::max<std::int64_t>(
        1, room > 0 ? room / static_cast<std::int64_t>(elements_.width + 2) : 0);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < parts.size(); i += static_cast<std::size_t>(in_line)) {
      const std::size_t end = std::min(parts.size(), i + static_cast<std::size_t>(in_line));
      lines.push_back(joined(std::span(parts).subspan(i, end - i), ", "));
    }
    return "[" + joined(lines, ",\n" + std::string(indent + 1, ' ')) + "]";
  }

  static std::string joined(std::span<const std::string> parts, const std::string& between) {
    std::string out;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i != 0) out += between;
      out += parts[i];
    }
    return out;
  }

  const Shape& shape_;
  const ElementTexts& elements_;
  const PrintOptions& options_;
  bool summarise_;
  std::size_t next_ = 0;
};

// Summarising shows six positions of each dimension, and there may be 64 of them: a tensor that
// repeats few elements would be gigabytes of text. One that has its elements is never refused.
void check_shown(const Tensor& tensor, const PrintOptions& options, bool summarise) {
  constexpr std::uint64_t kAlways = 100'000;
  const std::uint64_t own =
      tensor.storage().nbytes() / static_cast<std::uint64_t>(tensor.layout().itemsize());
  const std::uint64_t most = std::max(kAlways, own);
  std::uint64_t shown = 1;
  for (const std::int64_t size : tensor.shape()) {
    const bool cut = summarise && size - options.edgeitems > options.edgeitems;
    shown *= static_cast<std::uint64_t>(cut ? 2 * options.edgeitems : size);
    if (shown == 0) return;
    if (shown <= most) continue;
    throw ValueError(concat("the text of a tensor of ", tensor.shape().repr(),
                            " would show more than ", most, " elements of the ", own,
                            " in its storage: print a part of it, or set_printoptions with smaller "
                            "edgeitems"));
  }
}

std::string contents(const Tensor& tensor, std::size_t indent, const PrintOptions& options) {
  const bool summarise = tensor.numel() > options.threshold;
  check_shown(tensor, options, summarise);
  const auto shown = shown_positions(tensor.shape(), options, summarise);
  const auto elements = element_texts(gather(tensor, shown), tensor.dtype(), options);
  return Brackets(tensor.shape(), elements, options, summarise).text(indent);
}

// The whole.

// Appends suffixes behind a comma, each on the same line if it fits there.
std::string with_suffixes(std::string text, const std::vector<std::string>& suffixes,
                          std::size_t indent, const PrintOptions& options) {
  const std::size_t newline = text.rfind('\n');
  std::size_t length = newline == std::string::npos ? text.size() + 2 : text.size() - newline + 1;
  for (const std::string& suffix : suffixes) {
    if (static_cast<std::int64_t>(length + suffix.size() + 2) > options.linewidth) {
      text += ",\n" + std::string(indent, ' ') + suffix;
      length = indent + suffix.size();
    } else {
      text += ", " + suffix;
      length += suffix.size() + 2;
    }
  }
  return text += ')';
}

bool is_usual(DType dtype) {
  const DType usual = get_default_dtype();
  return dtype == usual || dtype == (usual == float64 ? complex128 : complex64) || dtype == int64 ||
         dtype == bool_;
}

Tensor on_cpu(const Tensor& tensor) {
  if (tensor.is_cpu()) return tensor;
  Tensor copy = allocate_tensor(Layout::packed(tensor.shape(), tensor.dtype(), Device::cpu()));
  copy_tensor(copy, tensor);
  return copy;
}

// The name of what it was calculated by, or nothing. Of a view whose history cannot be told any
// more that is said: text does not fail.
std::string history_text(const Tensor& tensor) {
  try {
    const Ref<Node> node = tensor.grad_fn();
    return node ? node->name() : std::string();
  } catch (const Error&) {
    return "Invalid";
  }
}

std::string tensor_text(const Tensor& tensor, const PrintOptions& options) {
  const auto held = Ref<const Body>::share(&tensor.body());  // type_name() may swap the tensor
  const Body& body = *held;
  const std::string prefix = (body.is_wrapper() ? body.type_name() : "tensor") + "(";
  std::vector<std::string> suffixes;
  if (!tensor.is_cpu()) suffixes.push_back("device='" + tensor.device().str() + "'");
  const std::string size = "size=" + static_cast<const Dims&>(tensor.shape()).repr();
  const std::string dtype = "dtype=" + repr(tensor.dtype());
  std::string text = prefix;
  if (tensor.is_meta() || body.is_wrapper()) {
    text += "...";
    suffixes.push_back(size);
    if (tensor.dtype() != get_default_dtype()) suffixes.push_back(dtype);
  } else if (tensor.numel() == 0) {
    text += "[]";
    if (tensor.dim() != 1) suffixes.push_back(size);
    if (tensor.dtype() != get_default_dtype()) suffixes.push_back(dtype);
  } else {
    if (options.edgeitems == 0) suffixes.push_back(size);
    if (!is_usual(tensor.dtype())) suffixes.push_back(dtype);
    text += contents(on_cpu(tensor), prefix.size(), options);
  }
  if (const std::string history = history_text(tensor); !history.empty()) {
    suffixes.push_back("grad_fn=<" + history + ">");
  } else if (tensor.requires_grad()) {
    suffixes.emplace_back("requires_grad=True");
  }
  return with_suffixes(std::move(text), suffixes, prefix.size(), options);
}

}  // namespace

void set_printoptions(const PrintOptionsChange& change) {
  SharedOptions& shared = shared_options();
  const std::lock_guard lock(shared.mutex);
  PrintOptions options = change.profile.empty() ? shared.options : profile_options(change.profile);
  options.precision = change.precision.value_or(options.precision);
  options.threshold = change.threshold.value_or(options.threshold);
  options.edgeitems = change.edgeitems.value_or(options.edgeitems);
  options.linewidth = change.linewidth.value_or(options.linewidth);
  options.sci_mode = change.sci_mode;
  if (options.precision > 1000)
    throw ValueError(concat("a precision of ", options.precision, " digits: 1000 is the most"));
  if (options.precision < 0 || options.threshold < 0 || options.edgeitems < 0 ||
      options.linewidth < 0) {
    throw ValueError("print options are not negative");
  }
  shared.options = options;
}

PrintOptions get_printoptions() {
  SharedOptions& shared = shared_options();
  const std::lock_guard lock(shared.mutex);
  return shared.options;
}

std::string Tensor::repr() const {
  if (!defined()) return "tensor(undefined)";
  // A user-defined tensor's own text is its class's code, which may destroy or swap this one.
  const Tensor held = *this;
  const auto own = Ref<const Body>::share(&body());
  if (auto text = own->repr()) return *std::move(text);
  std::string text = tensor_text(held, get_printoptions());
  if (!own->is_parameter()) return text;
  return own->is_wrapper() ? "Parameter(" + text + ")" : "Parameter containing:\n" + text;
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.repr(); }

}  // namespace tenon
