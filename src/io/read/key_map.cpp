#include "tenon/key_map.h"

#include <re2/re2.h>

#include <variant>
#include <vector>

#include "base/text.h"
#include "io/support/shown.h"
#include "tenon/error.h"
#include "tenon/value.h"

namespace tenon {

namespace {

// Of the automaton that RE2 builds while it matches; beyond that it takes a slower way.
constexpr std::int64_t kMostMemory = 8 << 20;
// A rule looks for its next match from each place where the last one ended, and each look may go to
// the end of the name: the work is quadratic. A file chooses its names, and names of models are
// much shorter.
constexpr std::size_t kLongestReplaced = 1024;
constexpr std::size_t kLongestResult = 65'536;

std::shared_ptr<const re2::RE2> compiled(const std::string& pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMostMemory);
  auto machine = std::make_shared<const re2::RE2>(pattern, options);
  if (!machine->ok()) {
    throw ValueError(concat("the regular expression ", Value(pattern),
                            " is wrong: ", machine->error(), " (the syntax is RE2's)"));
  }
  return machine;
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

struct Strip {
  std::string prefix;
};
struct Add {
  std::string prefix;
};
struct Rename {
  std::map<std::string, std::string, std::less<>> names;
};
struct Replace {
  std::shared_ptr<const re2::RE2> pattern;
  std::string with;

  void apply(std::string& name) const {
    if (name.size() > kLongestReplaced) {
      throw ValueError(concat("the name ", shown(name), " has ", name.size(),
                              " bytes, and a regular expression replaces in names of up to ",
                              kLongestReplaced, ": leave the tensor out, or rename it as a whole"));
    }
    re2::RE2::GlobalReplace(&name, *pattern, piece(with));
    if (name.size() > kLongestResult) {
      throw ValueError(concat("replacing ", Value(pattern->pattern()), " makes a name of ",
                              name.size(), " bytes, and up to ", kLongestResult, " are allowed"));
    }
  }
};

}  // namespace

struct KeyMap::Rules {
  std::vector<std::variant<Strip, Add, Rename, Replace>> all;
};

KeyMap::KeyMap() noexcept = default;
KeyMap::KeyMap(const KeyMap& other)
    : rules_(other.rules_ ? std::make_unique<Rules>(*other.rules_) : nullptr) {}
KeyMap::KeyMap(KeyMap&&) noexcept = default;
KeyMap& KeyMap::operator=(KeyMap other) noexcept {
  rules_.swap(other.rules_);
  return *this;
}
KeyMap::~KeyMap() = default;

bool KeyMap::empty() const noexcept { return !rules_ || rules_->all.empty(); }

KeyMap& KeyMap::strip_prefix(std::string prefix) {
  if (!rules_) rules_ = std::make_unique<Rules>();
  rules_->all.emplace_back(Strip{std::move(prefix)});
  return *this;
}
KeyMap& KeyMap::add_prefix(std::string prefix) {
  if (!rules_) rules_ = std::make_unique<Rules>();
  rules_->all.emplace_back(Add{std::move(prefix)});
  return *this;
}
KeyMap& KeyMap::rename_whole(std::map<std::string, std::string, std::less<>> names) {
  if (!rules_) rules_ = std::make_unique<Rules>();
  rules_->all.emplace_back(Rename{std::move(names)});
  return *this;
}
KeyMap& KeyMap::replace(const std::string& pattern, std::string with) {
  Replace rule{compiled(pattern), std::move(with)};
  std::string wrong;
  if (!rule.pattern->CheckRewriteString(piece(rule.with), &wrong)) {
    throw ValueError(concat("the replacement ", Value(rule.with), " for ", Value(pattern),
                            " is wrong: ", wrong));
  }
  if (!rules_) rules_ = std::make_unique<Rules>();
  rules_->all.emplace_back(std::move(rule));
  return *this;
}

std::string KeyMap::operator()(std::string_view name) const {
  std::string out(name);
  if (empty()) return out;
  for (const auto& rule : rules_->all) {
    if (const auto* strip = std::get_if<Strip>(&rule)) {
      if (out.starts_with(strip->prefix)) out.erase(0, strip->prefix.size());
    } else if (const auto* add = std::get_if<Add>(&rule)) {
      out.insert(0, add->prefix);
    } else if (const auto* names = std::get_if<Rename>(&rule)) {
      if (const auto found = names->names.find(out); found != names->names.end())
        out = found->second;
    } else if (const auto* replace = std::get_if<Replace>(&rule)) {
      replace->apply(out);
    }
  }
  return out;
}

std::string KeyMap::module(std::string_view name) const {
  // A module's name is a prefix of its tensors' names, without the dot at its end.
  std::string out = name.empty() ? std::string() : concat(name, ".");
  if (!empty()) {
    for (const auto& rule : rules_->all) {
      if (const auto* strip = std::get_if<Strip>(&rule)) {
        if (out.starts_with(strip->prefix)) out.erase(0, strip->prefix.size());
      } else if (const auto* add = std::get_if<Add>(&rule)) {
        out.insert(0, add->prefix);
      }
    }
  }
  if (out.ends_with('.')) out.pop_back();
  return out;
}

std::function<bool(std::string_view)> matching(const std::string& pattern) {
  return [machine = compiled(pattern)](std::string_view name) {
    return re2::RE2::PartialMatch(piece(name), *machine);
  };
}

}  // namespace tenon
