#include "core/swap.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "core/body_editor.h"
#include "core/secret_hash.h"
#include "tenon/error.h"
#include "tenon/tensor.h"

namespace tenon {

namespace {

// Whether a body has nothing that could lead to another tensor.
bool leads_nowhere(const Body& body) {
  const detail::AutogradMeta* meta = BodyEditor::autograd(body);
  return !body.is_wrapper() && !body.is_view() && BodyEditor::attributes(body) == nullptr &&
         (meta == nullptr || (!meta->grad.defined() && !meta->edge.node));
}

// Looks for a cell among everything a body keeps alive: its payload, grad, attributes, what it is a
// view of and what it was calculated from. What is found on the way is held, because flatten() may
// make it anew.
class Search {
 public:
  explicit Search(const detail::Cell& wanted) : wanted_(wanted) {}

  bool from(const Body& body) {
    look_into(body);
    while (!found_ && !(bodies_.size() == looked_into_ && nodes_.empty())) {
      if (looked_into_ < bodies_.size()) {
        const Ref<Body> next = bodies_[looked_into_++];
        look_into(*next);
      } else {
        const Ref<Node> next = std::move(nodes_.back());
        nodes_.pop_back();
        look_into(*next);
      }
    }
    return found_;
  }

 private:
  void look_into(const Body& body) {
    if (const auto* meta = BodyEditor::autograd(body)) {
      visit(meta->grad);
      visit(meta->edge.node);
    }
    if (const auto* attributes = BodyEditor::attributes(body)) {
      for (const auto& entry : attributes->values) visit(entry.second);
    }
    if (const Ref<Body>& base = BodyEditor::base(body)) visit(base);
    body.for_each_payload([&](const Tensor& part) { visit(part); });
  }
  void look_into(const Node& node) {
    for (const Edge& edge : node.next_edges()) visit(edge.node);
    if (const auto* accumulator = dynamic_cast<const AccumulateGrad*>(&node))
      visit(Ref<Body>::share(&accumulator->leaf()));
  }

  void visit(const Tensor& tensor) {
    if (!tensor.defined()) return;
    found_ = found_ || tensor.cell().get() == &wanted_;
    visit(tensor.cell()->body);
  }
  void visit(const Ref<Body>& body) {
    if (seen_.insert(body.get()).second) bodies_.push_back(body);
  }
  void visit(const Ref<Node>& node) {
    if (node && seen_.insert(node.get()).second) nodes_.push_back(node);
  }
  // Values are trees of shared nodes, walked without recursion.
  void visit(const Value& value) {
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
  }

  const detail::Cell& wanted_;
  std::vector<Ref<Body>> bodies_;  // all that were found; kept, so that no address is used twice
  std::size_t looked_into_ = 0;
  std::vector<Ref<Node>> nodes_;
  std::unordered_set<const void*> seen_;
  bool found_ = false;
};

// Whether the body keeps the cell alive. Swapped into it, the body would then own itself.
bool contains(const Body& body, const detail::Cell& cell) { return Search(cell).from(body); }

void check_free(const Body& body, const char* which) {
  const std::int64_t views = body.live_views(), saves = body.live_saves();
  if (views == 0 && saves == 0) return;
  std::string holders;
  if (views != 0) holders = concat(views, views == 1 ? " live view" : " live views");
  if (saves != 0)
    holders += concat(views != 0 ? " and " : "", saves,
                      saves == 1 ? " backward pass" : " backward passes");
  throw SwapError(concat(
      "cannot swap ", which, ": ", holders, " would not see the exchange.",
      views != 0 ? " Drop the views first; detach() gives an alias that is not a view." : "",
      saves != 0 ? " Run backward first, or drop the results that were calculated with it." : ""));
}

// Forgotten as well as poisoned: graphs recorded from now on get an accumulator of their own.
void poison_accumulator(Body& body) {
  if (const auto accumulator = BodyEditor::forget_accumulator(body)) accumulator->poison();
}

}  // namespace

void check_swap(const Tensor& a, const Tensor& b) {
  const Body &first = a.body(), &second = b.body();
  if (a.is(b)) return;
  if (BodyEditor::is_plain(first) && BodyEditor::is_plain(second)) return;
  check_swap_counts(a, b);
  if (leads_nowhere(first) && leads_nowhere(second)) return;
  // Looking into a user-defined tensor is its class's code, which may swap and take views.
  const Tensor held_a = a, held_b = b;
  const auto held_first = Ref<Body>::share(&a.body()), held_second = Ref<Body>::share(&b.body());
  if (contains(first, *held_b.cell()) || contains(second, *held_a.cell())) {
    throw SwapError(
        "cannot swap a tensor with one that it contains: one of the two is, directly or through "
        "others, the other's payload, grad, attribute, or what it was calculated from");
  }
  if (&held_a.body() != &first || &held_b.body() != &second) {
    throw SwapError(
        "cannot swap: one of the tensors was swapped by user code while the swap was being "
        "checked");
  }
  check_swap_counts(held_a, held_b);
}

void check_swap_counts(const Tensor& a, const Tensor& b) {
  if (a.is(b)) return;
  check_free(a.body(), "the first tensor");
  check_free(b.body(), "the second tensor");
}

void swap_checked(const Tensor& a, const Tensor& b) noexcept {
  if (a.is(b)) return;
  poison_accumulator(a.body());
  poison_accumulator(b.body());
  BodyEditor::swap(*a.cell(), *b.cell());
}

namespace {

bool has_what_stays(const detail::AutogradMeta& meta, const Body& to) {
  return detail::grad_fits(meta, to.layout()) || !meta.hooks.empty() || !meta.accumulated.empty();
}

// The names of attributes. Files may bring many: those are found by a hash, unless there is no
// memory for it, which is no reason to fail here.
class NamesOf {
 public:
  using Attributes = std::vector<std::pair<std::string, Value>>;

  // Which are asked for so often. Others may be added behind them, if memory is reserved.
  NamesOf(const Attributes& attributes, std::size_t times) noexcept
      : names_(attributes.data(), attributes.size()) {
    constexpr std::size_t kFew = 4096;
    if (names_.size() * times <= kFew) return;
    try {
      hashed_.reserve(names_.size());
      for (const auto& [name, value] : names_) hashed_.insert(name);
    } catch (const std::bad_alloc&) {
      hashed_.clear();
    }
  }
  bool has(std::string_view name) const noexcept {
    if (!hashed_.empty()) return hashed_.contains(name);
    return std::any_of(names_.begin(), names_.end(),
                       [&](const auto& entry) { return entry.first == name; });
  }

 private:
  std::span<const std::pair<std::string, Value>> names_;
  std::unordered_set<std::string_view, SecretHash> hashed_;
};

template <class T>
void move_all(std::vector<T>& from, std::vector<T>& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
  from.clear();
}

}  // namespace

void prepare_carry_over(const Body& from, Body& to) {
  const detail::AutogradMeta* meta = BodyEditor::autograd(from);
  if (meta != nullptr && has_what_stays(*meta, to)) {
    detail::AutogradMeta& other = BodyEditor::need_autograd(to);
    other.hooks.reserve(other.hooks.size() + meta->hooks.size());
    other.accumulated.reserve(other.accumulated.size() + meta->accumulated.size());
  }
  if (const detail::Attributes* attributes = BodyEditor::attributes(from)) {
    auto& values = BodyEditor::need_attributes(to).values;
    values.reserve(values.size() + attributes->values.size());
  }
}

void carry_over(Body& from, Body& to) {
  detail::AutogradMeta* meta = BodyEditor::autograd(from);
  if (meta != nullptr && has_what_stays(*meta, to)) {
    detail::AutogradMeta& other = BodyEditor::need_autograd(to);
    if (detail::grad_fits(*meta, to.layout()) && !other.grad.defined())
      std::swap(other.grad, meta->grad);
    move_all(meta->hooks, other.hooks);
    move_all(meta->accumulated, other.accumulated);
  }
  if (detail::Attributes* attributes = BodyEditor::attributes(from)) {
    auto& values = BodyEditor::need_attributes(to).values;
    values.reserve(values.size() + attributes->values.size());  // which has been done before
    const NamesOf own(values, attributes->values.size());
    for (auto& entry : attributes->values) {
      if (!own.has(entry.first)) values.push_back(std::move(entry));
    }
    attributes->values.clear();
  }
}

namespace {
constinit thread_local SwapLog* innermost_log = nullptr;
}

SwapLog::SwapLog() noexcept : outer_(std::exchange(innermost_log, this)) {}
SwapLog::~SwapLog() { innermost_log = outer_; }

void swap_tensors(const Tensor& a, const Tensor& b) {
  const auto check_and_swap = [](const Tensor& first, const Tensor& second) {
    check_swap(first, second);
    for (SwapLog* log = innermost_log; log != nullptr; log = log->outer_)
      log->cells_.insert(log->cells_.end(), {first.cell().get(), second.cell().get()});
    swap_checked(first, second);
  };
  if (BodyEditor::is_plain(a.body()) && BodyEditor::is_plain(b.body())) [[likely]]
    return check_and_swap(a, b);
  // The check may run user code, which may destroy the caller's.
  const Tensor own_a = a, own_b = b;
  check_and_swap(own_a, own_b);
}

}  // namespace tenon
