#include "base/control_group.h"

#include <fstream>

namespace tenon {

void for_each_group(const std::string& root, std::string group, const std::string& file,
                    FunctionRef<void(const std::string& line)> call) {
  while (!group.empty()) {
    if (group.back() == '/') group.pop_back();  // the root itself
    std::string line;
    std::ifstream in(root + group + "/" + file);
    std::getline(in, line);
    call(line);
    if (group.empty()) break;
    group.resize(group.find_last_of('/') + 1);
  }
}

void for_each_hierarchy(
    FunctionRef<void(const std::string& controllers, const std::string& group)> call) {
  // "0::/path" is the place in version 2, "9:memory:/path" that of version 1.
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    call("," + line.substr(first + 1, second - first - 1) + ",", line.substr(second + 1));
  }
}

}  // namespace tenon
