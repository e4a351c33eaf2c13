#include <ostream>

#include "base/text.h"
#include "nn/load_plan.h"
#include "tenon/error.h"
#include "tenon/nn/load_state_dict.h"
#include "tenon/nn/module.h"

namespace tenon::nn {

Module& LoadContext::module() const noexcept { return *visit_.module; }
const std::string& LoadContext::prefix() const noexcept { return *visit_.prefix; }
const LoadStateDictOptions& LoadContext::options() const noexcept { return plan_.options(); }

std::vector<std::string> LoadContext::keys() const {
  std::vector<std::string> keys;
  for (const std::uint32_t place : visit_.source->under(*visit_.prefix))
    keys.push_back(visit_.source->entry(place).first);
  return keys;
}

const Value* LoadContext::find(std::string_view key) const {
  return key.starts_with(*visit_.prefix) ? visit_.source->find(key) : nullptr;
}

Value LoadContext::local_metadata() const { return plan_.local_metadata(visit_); }

std::optional<std::int64_t> LoadContext::version() const {
  const Value notes = local_metadata();
  if (notes.kind() != Value::Kind::dict) return std::nullopt;
  const Value* version = notes.find("version");
  if (version == nullptr || version->kind() != Value::Kind::integer) return std::nullopt;
  return version->as_int();
}

void LoadContext::set(std::string_view key, Value value) {
  if (!key.starts_with(*visit_.prefix)) {
    throw ValueError(concat("a load hook of \"", *visit_.prefix, "\" cannot set the key \"", key,
                            "\", which is another module's"));
  }
  plan_.editable(visit_).set(key, std::move(value));
}

bool LoadContext::erase(std::string_view key) {
  return find(key) != nullptr && plan_.editable(visit_).erase(key);
}

bool LoadContext::rename(std::string_view from, std::string_view to) {
  if (find(from) == nullptr) return false;
  if (!to.starts_with(*visit_.prefix)) {
    throw ValueError(concat("a load hook of \"", *visit_.prefix, "\" cannot rename a key to \"", to,
                            "\", which is another module's"));
  }
  return plan_.editable(visit_).rename(from, to);
}

void LoadContext::load_own() { plan_.load_own(visit_); }

void LoadContext::load(TensorSlot& slot, const Value& value, std::string_view key) {
  if (&slot.owner() != visit_.module || !slot.defined()) {
    throw ValueError(concat("the slot for \"", key, "\" is not one of this ",
                            visit_.module->type_name(), "'s that has a tensor"));
  }
  visit_.taken.push_back(&slot);
  visit_.source->use(key);
  plan_.take(slot, value, plan_.keep(key));
}

void LoadContext::at_commit(std::function<void()> action) { plan_.at_commit(std::move(action)); }
void LoadContext::missing(std::string key) { plan_.missing(std::move(key)); }
void LoadContext::unexpected(std::string key) { plan_.unexpected(std::move(key)); }
void LoadContext::error(std::string sentence) { plan_.error(std::move(sentence)); }

std::string IncompatibleKeys::repr() const {
  if (empty()) return "<All keys matched successfully>";
  const auto list = [](const std::vector<std::string>& keys) {
    std::vector<Value> values(keys.begin(), keys.end());
    return Value::list(std::move(values)).repr();
  };
  std::string text = concat("_IncompatibleKeys(missing_keys=", list(missing_keys),
                            ", unexpected_keys=", list(unexpected_keys));
  if (!mismatched.empty()) {
    std::vector<std::string> keys;
    for (const Mismatch& mismatch : mismatched) keys.push_back(mismatch.key);
    text += concat(", mismatched_keys=", list(keys));
  }
  return text + ")";
}

std::ostream& operator<<(std::ostream& out, const IncompatibleKeys& keys) {
  return out << keys.repr();
}

}  // namespace tenon::nn
