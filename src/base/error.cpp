#include "tenon/error.h"

#include <system_error>
#include <utility>

#include "base/error_place.h"
#include "base/text.h"
#include "base/visible.h"

namespace tenon {

// Out of line, so that one library owns the type information that catch clauses compare.
Error::~Error() = default;
ShapeError::~ShapeError() = default;
DTypeError::~DTypeError() = default;
DeviceError::~DeviceError() = default;
IndexError::~IndexError() = default;
ValueError::~ValueError() = default;
TypeError::~TypeError() = default;
NotImplementedError::~NotImplementedError() = default;
AutogradError::~AutogradError() = default;
SwapError::~SwapError() = default;
OutOfMemoryError::~OutOfMemoryError() = default;
IoError::~IoError() = default;
InternalError::~InternalError() = default;
FormatError::~FormatError() = default;
ChecksumError::~ChecksumError() = default;
CancelledError::~CancelledError() = default;
LoadError::~LoadError() = default;
LoadError::LoadError(const LoadError&) noexcept = default;
LoadError& LoadError::operator=(const LoadError&) noexcept = default;

// Note [Names in messages]
// Whoever wrote a file chose the names in it, and messages repeat them. These constructors are the
// one place where they become safe to show, so that nobody who throws can forget it. A message may
// have several lines. Who repeats a name that could hold a line of its own makes that visible
// first; errors about files do so here, with a limit, so that a name of a megabyte does not become
// a megabyte of a log. The system allows paths of 4,096 bytes.
namespace {
constexpr std::size_t kMostShown = 4096;
}

Error::Error(const std::string& what) : std::runtime_error(visible_lines(what)) {}
Error::Error(const char* what) : std::runtime_error(visible_lines(what)) {}

const char* Error::what() const noexcept {
  return place_ ? place_->what.c_str() : std::runtime_error::what();
}

LoadError::LoadError(const std::string& what, Problems problems)
    : Error(what), problems_(std::make_shared<const Problems>(std::move(problems))) {}

OutOfMemoryError::OutOfMemoryError(const std::string& what, std::size_t bytes)
    : Error(what), bytes_(bytes) {}

DeviceError::DeviceError(const std::string& what) : Error(visible(what, kMostShown)) {}

FormatError::FormatError(std::string file, std::uint64_t offset, const std::string& reason)
    : Error(
          concat(visible(file, kMostShown), ": byte ", offset, ": ", visible(reason, kMostShown))),
      file_(std::move(file)),
      offset_(offset) {}

IoError::IoError(const std::string& action, std::string file, int error_number)
    : Error(concat(visible(file, kMostShown), ": ", visible(action, kMostShown), ": ",
                   std::generic_category().message(error_number))),
      file_(std::move(file)),
      error_number_(error_number) {}

}  // namespace tenon
