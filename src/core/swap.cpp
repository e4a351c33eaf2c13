#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "core/body_editor.h"
#include "tenon/error.h"
#include "tenon/tensor.h"

namespace tenon {

namespace {

// Whether the body's payload, grad or attributes lead to the cell. Swapped into it, the body would
// then own itself.
bool contains(const Body& body, const detail::Cell& cell) {
  std::vector<const Body*> open{&body};
  std::unordered_set<const Body*> seen;
  bool found = false;
  const auto visit = [&](const Tensor& tensor) {
    if (!tensor.defined()) return;
    found = found || tensor.cell().get() == &cell;
    open.push_back(&tensor.body());
  };
  // Values are trees of shared nodes, walked without recursion.
  const auto visit_value = [&](const Value& value) {
    std::vector<const Value*> values{&value};
    while (!values.empty()) {
      const Value& next = *values.back();
      values.pop_back();
      if (next.is_tensor()) visit(next.as_tensor());
      if (next.kind() == Value::Kind::list || next.kind() == Value::Kind::tuple) {
        for (const Value& item : next.items()) values.push_back(&item);
      } else if (next.kind() == Value::Kind::dict) {
        for (const auto& [key, item] : next.entries()) {
          values.push_back(&key);
          values.push_back(&item);
        }
      }
    }
  };
  while (!open.empty() && !found) {
    const Body& next = *open.back();
    open.pop_back();
    if (!seen.insert(&next).second) continue;
    if (const auto* meta = BodyEditor::autograd(next)) visit(meta->grad);
    if (const auto* attributes = BodyEditor::attributes(next)) {
      for (const auto& entry : attributes->values) visit_value(entry.second);
    }
    next.for_each_payload(visit);
  }
  return found;
}

void check_free(const Body& body, const char* which) {
  const std::int64_t views = body.live_views(), saves = body.live_saves();
  if (views == 0 && saves == 0) return;
  std::string holders;
  if (views != 0) holders = concat(views, views == 1 ? " live view" : " live views");
  if (saves != 0)
    holders += concat(views != 0 ? " and " : "", saves,
                      saves == 1 ? " backward pass" : " backward passes");
  throw SwapError(concat(
      "cannot swap ", which, ": ", holders,
      " would not see the exchange. Drop them first; detach() gives an alias that is not a view"));
}

// Forgotten as well as poisoned: graphs recorded from now on get an accumulator of their own.
void poison_accumulator(Body& body) {
  if (const auto accumulator = BodyEditor::forget_accumulator(body)) accumulator->poison();
}

}  // namespace

void swap_tensors(const Tensor& a, const Tensor& b) {
  Body &first = a.body(), &second = b.body();
  if (a.is(b)) return;
  if (BodyEditor::is_plain(first) && BodyEditor::is_plain(second))
    return BodyEditor::swap(*a.cell(), *b.cell());
  check_free(first, "the first tensor");
  check_free(second, "the second tensor");
  if (contains(first, *b.cell()) || contains(second, *a.cell())) {
    throw SwapError(
        "cannot swap a tensor with one that it contains: one of the two is the other's payload, "
        "grad or attribute");
  }
  poison_accumulator(first);
  poison_accumulator(second);
  BodyEditor::swap(*a.cell(), *b.cell());
}

}  // namespace tenon
