#include "core/alias.h"

#include <utility>

#include "base/assert.h"
#include "base/thread_state.h"
#include "core/body_editor.h"

namespace tenon {

Ref<Body> alias_body(Body& body, Layout&& layout) {
  TENON_ASSERT(!body.is_wrapper());
  auto alias = make_ref<Body>(std::move(layout), Storage(body.storage()));
  BodyEditor::share_version(*alias, body);
  if (body.is_inference()) BodyEditor::set_inference(*alias);
  return alias;
}

Tensor allocate_tensor(Layout&& layout) {
  auto storage = Storage::allocate(static_cast<std::size_t>(required_bytes(layout)), layout.device);
  auto body = make_ref<Body>(std::move(layout), std::move(storage));
  if (thread_state().inference) BodyEditor::set_inference(*body);
  return Tensor(std::move(body));
}

}  // namespace tenon
