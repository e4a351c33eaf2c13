#include "ops/views/view_nodes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/view_nodes.h"
#include "ops/support/gradients.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/where.h"

namespace tenon {

namespace {

std::int64_t end_of(const Layout& layout) {
  std::int64_t last = layout.offset;
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    if (layout.shape[d] == 0) return layout.offset;
    last += (layout.shape[d] - 1) * layout.strides[d];
  }
  return last + 1;
}

// Two layouts over one piece of memory that has room for either.
struct Overlay {
  Overlay(const Layout& whole, const Layout& part)
      : first(std::min(whole.offset, part.offset)),
        reach(std::max(end_of(whole), end_of(part)) - first) {}

  // The tensor that a layout makes of it.
  Tensor over(const Tensor& memory, const Layout& layout) const {
    return memory.as_strided(layout.shape, layout.strides, layout.offset - first);
  }

  std::int64_t first, reach;
};

// Elements of the argument may lie in any order, too.
class AsStridedNode final : public Node {
 public:
  AsStridedNode(const Layout& self, const Layout& view) : self_(self), view_(view) {}
  std::string name() const override { return "AsStridedBackward0"; }
  std::vector<Tensor> apply(std::vector<Tensor> grads) override {
    if (!grads[0].defined()) return {Tensor()};
    const Overlay overlay(self_, view_);
    const auto spread = [&](const Tensor& values, const Layout& like) {
      Layout layout = like;
      layout.offset -= overlay.first;
      return put_back(values, {overlay.reach}, layout);
    };
    Tensor memory = spread(grads[0], view_);
    if (!never_meet(self_.shape, self_.strides)) {
      // Each of several elements in one place would be given all of it.
      const Tensor ones_of_self =
          ones(self_.shape, {.dtype = grads[0].dtype(), .device = grads[0].device()});
      const Tensor times = spread(ones_of_self, self_);
      memory = memory / masked_fill(times, times == 0, 1);
    }
    return {overlay.over(memory, self_)};
  }

 private:
  Layout self_, view_;
};

// A tensor of which a view was written to: what was written has its gradient from the operator that
// wrote it, the rest its own.
class CopySlicesNode final : public Node {
 public:
  CopySlicesNode(const Layout& self, const Layout& view, Ref<Node> write)
      : self_(self), view_(view), write_(std::move(write)) {
    write_->set_stand_in(this);
  }
  ~CopySlicesNode() override { write_->set_stand_in(nullptr); }
  std::string name() const override { return "CopySlices"; }

  // What was written, a part of this one's result.
  Ref<Node> history_of_result() override {
    Ref<Node> part = as_strided_node(self_, view_);
    part->set_next_edges({{Ref<Node>::share(this), 0}});
    part->set_output(0, view_);
    return part;
  }

  std::vector<Tensor> apply(std::vector<Tensor> grads) override {
    if (!grads[0].defined()) return std::vector<Tensor>(next_edges().size());
    const Overlay overlay(self_, view_);
    const Tensor memory =
        zeros({overlay.reach}, {.dtype = grads[0].dtype(), .device = grads[0].device()});
    overlay.over(memory, self_).copy_(grads[0]);
    const Tensor written = overlay.over(memory, view_);
    std::vector<Tensor> out = write_->apply({written.clone()});
    if (!next_edges()[0].node) {
      out[0] = {};
    } else {
      if (out[0].defined()) {
        written.copy_(sum_to(out[0], view_.shape));
      } else {
        written.zero_();
      }
      out[0] = overlay.over(memory, self_);
    }
    return out;
  }
  void free_saved() noexcept override { write_->free_saved(); }

 private:
  Layout self_, view_;
  Ref<Node> write_;
};

Ref<Node> copy_slices_node(const Layout& self, const Layout& view, Ref<Node> write) {
  return make_ref<CopySlicesNode>(self, view, std::move(write));
}

constexpr ViewNodes kViewNodes{as_strided_node, copy_slices_node};

// Whoever links an operator that makes views links this.
[[maybe_unused]] const bool kSet = [] {
  set_view_nodes(kViewNodes);
  return true;
}();

}  // namespace

Ref<Node> as_strided_node(const Layout& self, const Layout& view) {
  return make_ref<AsStridedNode>(self, view);
}

}  // namespace tenon
