// The commands, and what they answer.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::cli {

inline constexpr int kYes = 0, kNo = 1, kUsage = 2, kRefused = 3, kSystem = 4;

int convert(const std::vector<std::string>& arguments);
int extract(const std::vector<std::string>& arguments);
int inspect(const std::vector<std::string>& arguments);
int verify(const std::vector<std::string>& arguments);

// The exit code when everything has been printed: the system's failure, if it could not be. A
// reader that has gone is none.
int written();

// Runs it; an error becomes one line on standard error, and its exit code.
int guarded(const std::string& file, const std::function<int()>& run);

}  // namespace tenon::cli
