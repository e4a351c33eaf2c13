// Modules as text, the way PyTorch writes them.
#include <ostream>
#include <typeinfo>

#include "base/demangled.h"
#include "base/error_place.h"
#include "base/text.h"
#include "nn/module_text.h"
#include "tenon/error.h"
#include "tenon/nn/callable.h"
#include "tenon/nn/module.h"

namespace tenon::nn {

// The last component, without template arguments: "net::(anonymous namespace)::Block<3>" is Block.
std::string class_name_of(const std::type_info& type) {
  const std::string whole = demangled(type);
  std::size_t begin = 0, end = whole.size();
  int depth = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const char c = whole[i];
    if (c == '<' && depth++ == 0) end = i;
    if (c == '>') --depth;
    if (depth == 0 && c == ':' && i + 1 < whole.size() && whole[i + 1] == ':') {
      begin = i + 2;
      end = whole.size();
      ++i;
    }
  }
  return whole.substr(begin, end - begin);
}

std::string Module::type_name() const { return class_name_of(typeid(*this)); }
std::string Module::extra_repr() const { return {}; }

namespace detail {

namespace {

std::string shown(const tenon::detail::ErrorPlace& place) {
  if (place.path.empty()) return concat(" (in ", place.layer, ")");
  return concat(" (in ", place.path, ": ", place.layer, ")");
}

}  // namespace

std::string indented(const std::string& text, std::size_t spaces) {
  std::string out;
  std::size_t begin = 0;
  for (std::size_t line = 0;; ++line) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view here = std::string_view(text).substr(begin, end - begin);
    if (line != 0) {
      out += '\n';
      // A blank line stays blank.
      if (here.find_first_not_of(" \t\r\v\f") != std::string_view::npos)
        out.append(spaces, ' ').append(here);
    } else {
      out += here;
    }
    if (end == std::string::npos) return out;
    begin = end + 1;
  }
}

std::string repr_of(const Module* child, const Guard& guard) {
  if (child == nullptr) return "None";
  const Guard kept(*child, guard.during());
  std::string text = child->repr();
  guard.check(Guard::kChildren);
  return text;
}

std::string assembled(const std::string& type_name, const std::string& extra,
                      const std::vector<std::string>& children) {
  std::vector<std::string> lines;
  if (!extra.empty()) {
    std::size_t begin = 0;
    for (;;) {
      const std::size_t end = extra.find('\n', begin);
      lines.push_back(extra.substr(begin, end - begin));
      if (end == std::string::npos) break;
      begin = end + 1;
    }
  }
  const std::size_t extra_lines = lines.size();
  lines.insert(lines.end(), children.begin(), children.end());
  std::string out = type_name + "(";
  if (extra_lines == 1 && children.empty()) return out + lines[0] + ")";
  if (!lines.empty()) {
    for (const std::string& line : lines) out += concat("\n  ", line);
    out += '\n';
  }
  return out + ")";
}

}  // namespace detail

std::string Module::repr() const {
  std::vector<std::string> children;
  detail::Guard guard(*this, "repr() was running");
  for (std::size_t i = 0; i < child_slots().size(); ++i) {
    const ChildSlot* slot = child_slots()[i];
    if (!slot->registered()) continue;
    const std::string text = detail::repr_of(slot->module().get(), guard);
    children.push_back(concat("(", slot->name(), "): ", detail::indented(text, 2)));
  }
  const std::string name = type_name();
  guard.check();
  const std::string extra = extra_repr();
  guard.check();
  return detail::assembled(name, extra, children);
}

std::ostream& operator<<(std::ostream& out, const Module& module) { return out << module.repr(); }

namespace detail {

void throw_wrong_arguments(const Module& module, std::size_t given, std::size_t takes) {
  throw TypeError(concat(module.type_name(), ".forward() takes ", takes,
                         takes == 1 ? " argument but " : " arguments but ", given,
                         given == 1 ? " was given" : " were given"));
}

void throw_wrong_argument(const Module& module, std::size_t position, const std::type_info& given,
                          const std::type_info& takes) {
  throw TypeError(concat(module.type_name(), ".forward(): argument ", position + 1, " is a ",
                         given == typeid(void) ? "None" : class_name_of(given), " but a ",
                         class_name_of(takes), " is taken"));
}

void throw_not_tensors(const Module& module) {
  throw TypeError(concat("a ", module.type_name(),
                         " cannot be called with one tensor to give one: its forward() takes or "
                         "gives something else"));
}

void add_place(Error& error, const Module& module) noexcept {
  // Arguments of another type than forward's: that says whose it is.
  if (dynamic_cast<const TypeError*>(&error) != nullptr) return;
  try {
    const auto before = error.place();
    auto place = std::make_shared<tenon::detail::ErrorPlace>();
    std::string message;
    if (before && !before->layer.empty()) {
      *place = *before;
      message.assign(before->what, 0, before->what.size() - shown(*before).size());
      // The one it has left may be in a list, which is not called itself.
      for (const auto& [name, inside] : module.named_modules()) {
        if (inside != before->last || inside == &module) continue;
        place->path = before->path.empty() ? name : concat(name, ".", before->path);
        break;
      }
    } else {
      message = error.what();
      // Of one that has children they would be most of the text.
      place->layer = module.children().empty()
                         ? concat(module.type_name(), "(", module.extra_repr(), ")")
                         : module.type_name();
    }
    place->last = &module;
    place->what = concat(message, shown(*place));
    error.set_place(std::move(place));
  } catch (...) {
    // Without the memory to say where, what was wrong is said all the same.
    return;
  }
}

}  // namespace detail

}  // namespace tenon::nn
