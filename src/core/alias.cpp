#include "core/alias.h"

#include <utility>

#include "base/assert.h"
#include "core/body_editor.h"

namespace tenon {

Ref<Body> alias_body(Body& body, Layout&& layout) {
  TENON_ASSERT(!body.is_wrapper());
  auto alias = make_ref<Body>(std::move(layout), Storage(body.storage()));
  BodyEditor::share_version(*alias, body);
  return alias;
}

Tensor allocate_tensor(Layout&& layout) {
  auto storage = Storage::allocate(static_cast<std::size_t>(required_bytes(layout)), layout.device);
  return Tensor(make_ref<Body>(std::move(layout), std::move(storage)));
}

}  // namespace tenon
