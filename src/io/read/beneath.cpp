#include "io/read/beneath.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/text.h"
#include "io/write/file_system.h"
#include "tenon/error.h"

namespace tenon {

namespace {

constexpr int kMostLinks = 40;  // as the kernel
constexpr std::uint64_t kMostParts = 512;
constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;
// O_NONBLOCK: opening a pipe nobody writes to must not hang; a regular file does not notice.
constexpr int kFile = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

std::optional<std::string> link_text(int folder, const std::string& name) {
  std::array<char, 4096> text{};
  const ssize_t n = ::readlinkat(folder, name.c_str(), text.data(), text.size());
  if (n < 0) return std::nullopt;
  if (static_cast<std::size_t>(n) == text.size()) {
    errno = ENAMETOOLONG;
    return std::nullopt;
  }
  return std::string(text.data(), static_cast<std::size_t>(n));
}

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    at = end + 1;
  }
  return parts;
}

// A path of an open folder, as the kernel knows it.
std::string path_of(int descriptor, const std::string& given) {
  const std::string link = concat("/proc/self/fd/", descriptor);
  std::error_code error;
  std::filesystem::path path = std::filesystem::read_symlink(link, error);
  if (error || !path.is_absolute()) path = std::filesystem::canonical(given, error);  // no /proc
  if (error) throw IoError("cannot look at the folder", given, error.value());
  return path.string();
}

}  // namespace

struct Beneath::Folder {
  Folder(int own, std::string where) : descriptor(own), path(std::move(where)) {}
  ~Folder() {
    const int error = errno;  // the caller's
    ::close(descriptor);
    errno = error;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  int descriptor;
  std::string path;  // without links
};

// One way to a file. It stands in a folder that it came to from one of the roots.
class Beneath::Walk {
 public:
  Walk(const std::vector<std::shared_ptr<const Folder>>& roots, std::string_view name)
      : roots_(roots), stack_{roots.front()} {
    for (std::string& part : parts_of(name)) left_.push_back(std::move(part));
    parts_ = left_.size();
  }

  std::uint64_t parts() const noexcept { return parts_; }
  int run() {
    if (!has_few_parts()) return -1;
    while (!left_.empty()) {
      const std::string part = std::move(left_.front());
      left_.pop_front();
      if (part == "..") {
        if (!go_up()) return -1;
      } else if (left_.empty()) {
        const int file =
            uninterrupted([&] { return ::openat(here(), part.c_str(), kFile | O_NOFOLLOW); });
        if (file >= 0 || errno != ELOOP) return file;
        if (!follow(part)) return -1;
      } else if (!go_into(part)) {
        return -1;
      }
    }
    errno = EISDIR;
    return -1;
  }

 private:
  int here() const { return stack_.back()->descriptor; }

  // The texts of links may have thousands of parts, and an index may name each many times. They
  // count when they are taken apart, whether they are walked to or not.
  bool has_few_parts() const {
    if (parts_ > kMostParts) errno = ELOOP;
    return parts_ <= kMostParts;
  }

  bool go_into(const std::string& part) {
    const int folder =
        uninterrupted([&] { return ::openat(here(), part.c_str(), kFolder | O_NOFOLLOW); });
    if (folder >= 0) {
      stack_.push_back(
          std::make_shared<const Folder>(folder, concat(stack_.back()->path, "/", part)));
      return true;
    }
    if (errno != ENOTDIR && errno != ELOOP) return false;
    return follow(part);
  }

  // By the folders we came through. The parent that the system would give may be another by now.
  bool go_up() {
    if (stack_.size() > 1) {
      stack_.pop_back();
      return true;
    }
    const std::string& path = stack_.back()->path;
    return start_again(path.substr(0, path.rfind('/')));
  }

  bool follow(const std::string& link) {
    if (++links_ > kMostLinks) {
      errno = ELOOP;
      return false;
    }
    const auto text = link_text(here(), link);
    if (!text) {
      if (errno == EINVAL) errno = ENOTDIR;  // it is no link
      return false;
    }
    const std::vector<std::string> parts = parts_of(*text);
    parts_ += parts.size();
    if (!has_few_parts()) return false;
    left_.insert(left_.begin(), parts.begin(), parts.end());
    return !text->starts_with('/') || start_again("");
  }

  // From a whole path without links, on to what is left: in the root that it leads into.
  bool start_again(const std::string& path) {
    std::vector<std::string> whole = parts_of(path);
    while (!left_.empty()) {
      if (left_.front() != "..")
        whole.push_back(std::move(left_.front()));
      else if (!whole.empty())
        whole.pop_back();
      left_.pop_front();
    }
    for (const auto& root : roots_) {
      const std::vector<std::string> above = parts_of(root->path);
      if (above.size() >= whole.size() || !std::equal(above.begin(), above.end(), whole.begin()))
        continue;
      stack_ = {root};
      left_.assign(whole.begin() + static_cast<std::ptrdiff_t>(above.size()), whole.end());
      return true;
    }
    errno = EXDEV;
    return false;
  }

  const std::vector<std::shared_ptr<const Folder>>& roots_;
  std::vector<std::shared_ptr<const Folder>> stack_;  // a root, and folders down to where we are
  std::deque<std::string> left_;
  int links_ = 0;
  std::uint64_t parts_ = 0;
};

Beneath::Beneath(const std::string& folder) {
  const int own = uninterrupted([&] { return ::open(folder.c_str(), kFolder); });
  if (own < 0) throw IoError("cannot open the folder", folder, errno);
  const auto root = std::make_shared<Folder>(own, std::string());
  root->path = path_of(own, folder);
  roots_.push_back(root);
}

Beneath::~Beneath() = default;

const std::string& Beneath::path() const noexcept { return roots_.front()->path; }

void Beneath::allow(const std::string& relative) {
  const int own = uninterrupted(
      [&] { return ::openat(roots_.front()->descriptor, relative.c_str(), kFolder | O_NOFOLLOW); });
  if (own < 0) return;
  const auto root = std::make_shared<Folder>(own, std::string());
  root->path = path_of(own, concat(path(), "/", relative));
  roots_.push_back(root);
}

int Beneath::open(std::string_view name, std::uint64_t& parts) const {
  Walk walk(roots_, name);
  const int descriptor = walk.run();
  parts = walk.parts();
  return descriptor;
}

int Beneath::open_anywhere(std::string_view name, std::uint64_t& parts) const {
  std::vector<std::shared_ptr<const Folder>> roots{roots_.front()};
  const int all = uninterrupted([] { return ::open("/", kFolder); });
  if (all < 0) return -1;
  roots.push_back(std::make_shared<const Folder>(all, std::string()));
  Walk walk(roots, name);
  const int descriptor = walk.run();
  if (descriptor < 0 && errno == EXDEV) errno = EISDIR;  // the folder that all others are in
  parts = walk.parts();
  return descriptor;
}

}  // namespace tenon
