#include "optim/load_problems.h"

#include <algorithm>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon::optim {

void refuse(const std::string& type_name, std::vector<std::string> problems) {
  constexpr std::size_t kShown = 20;
  std::string text = concat("Error(s) in loading state_dict for ", type_name, ":");
  for (std::size_t i = 0; i < std::min(problems.size(), kShown); ++i)
    text += concat("\n\t", problems[i]);
  if (problems.size() > kShown) text += concat("\n\t... and ", problems.size() - kShown, " more");
  LoadError::Problems all;
  all.errors = std::move(problems);
  throw LoadError(text, std::move(all));
}

}  // namespace tenon::optim
