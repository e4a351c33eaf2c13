#include "base/assert.h"

#include "base/text.h"
#include "tenon/error.h"

namespace tenon::detail {

void assertion_failed(const char* condition, const char* file, int line) {
  throw InternalError(concat("a promise inside Tenon does not hold: ", condition, " (", file, ":",
                             line, "). This is a bug in Tenon, please report it"));
}

}  // namespace tenon::detail
