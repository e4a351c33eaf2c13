// The exceptions Tenon throws. Catch by type, act on the fields, print what().
//
// A message is one sentence with the numbers in it, then what to do. Where PyTorch's wording is
// well known it is used, because that is what people search for. An operation that throws has
// changed nothing unless its own header says otherwise.
//
// Messages repeat names that a file chose, and are safe to log: control characters (but for new
// lines and tabs), invisible characters and those that turn text around are written as \u{...},
// bytes that are not UTF-8 as \x.. in them. Those of IoError, FormatError, ChecksumError and
// DeviceError are one line, and show the first 4 KiB of a long name or reason. The fields, file()
// above all, have everything as it was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/version.h"

namespace tenon {

namespace detail {
struct ErrorPlace;
}

class TENON_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what);
  explicit Error(const char* what);
  ~Error() override;

  // The message, and in parentheses which layer of a model it came from, if it came from one.
  const char* what() const noexcept override;

  // Which layer that is: set by the modules that the error passes through.
  const std::shared_ptr<const detail::ErrorPlace>& place() const noexcept { return place_; }
  void set_place(std::shared_ptr<const detail::ErrorPlace> place) noexcept {
    place_ = std::move(place);
  }

 private:
  std::shared_ptr<const detail::ErrorPlace> place_;
};

// Sizes that do not fit together, or cannot exist (negative, overflowing).
class TENON_API ShapeError : public Error {
 public:
  using Error::Error;
  ~ShapeError() override;
};

// A dtype that cannot do what was asked, or not the dtype the caller said it was.
class TENON_API DTypeError : public Error {
 public:
  using Error::Error;
  ~DTypeError() override;
};

// A device that does not exist, has no such kernel, or is not the one the other operands are on.
class TENON_API DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& what);
  ~DeviceError() override;
};

// A dimension or an element position outside its range.
class TENON_API IndexError : public Error {
 public:
  using Error::Error;
  ~IndexError() override;
};

// An argument whose type is right and whose value is not.
class TENON_API ValueError : public Error {
 public:
  using Error::Error;
  ~ValueError() override;
};

// A dynamically typed value (a tenon::Value, the result of a user-defined tensor) of the wrong
// type.
class TENON_API TypeError : public Error {
 public:
  using Error::Error;
  ~TypeError() override;
};

// Nobody implements this operator for these tensors.
class TENON_API NotImplementedError : public Error {
 public:
  using Error::Error;
  ~NotImplementedError() override;
};

// Something the recorded history of a tensor does not allow, such as writing into a leaf.
class TENON_API AutogradError : public Error {
 public:
  using Error::Error;
  ~AutogradError() override;
};

// Two tensors that cannot be swapped, or a graph that was recorded before a swap.
class TENON_API SwapError : public Error {
 public:
  using Error::Error;
  ~SwapError() override;
};

// The memory asked for is not to be had.
class TENON_API OutOfMemoryError : public Error {
 public:
  OutOfMemoryError(const std::string& what, std::size_t bytes);
  ~OutOfMemoryError() override;
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_;
};

// The operating system refused: the file, and the errno it gave.
class TENON_API IoError : public Error {
 public:
  IoError(const std::string& action, std::string file, int error_number);
  ~IoError() override;
  const std::string& file() const noexcept { return file_; }
  int error_number() const noexcept { return error_number_; }

 private:
  std::string file_;
  int error_number_;
};

// A file is not what it should be: broken, cut short, hostile, or of another kind. The message is
// "FILE: byte N: reason".
class TENON_API FormatError : public Error {
 public:
  FormatError(std::string file, std::uint64_t offset, const std::string& reason);
  ~FormatError() override;
  const std::string& file() const noexcept { return file_; }
  std::uint64_t offset() const noexcept { return offset_; }  // where in the file

 private:
  std::string file_;
  std::uint64_t offset_;
};

// Bytes are not those their checksum was made of.
class TENON_API ChecksumError : public FormatError {
 public:
  using FormatError::FormatError;
  ~ChecksumError() override;
};

// The work was ended because its caller asked for that.
class TENON_API CancelledError : public Error {
 public:
  using Error::Error;
  ~CancelledError() override;
};

// A state dict that does not fit the module it was loaded into, or a load that could not be carried
// out. The module is as it was, unless torn() says otherwise. The message has every problem; of
// long lists it shows the beginning, and the fields have all.
class TENON_API LoadError : public Error {
 public:
  struct Problems {
    std::vector<std::string> missing_keys;     // of the module, not in the state dict
    std::vector<std::string> unexpected_keys;  // of the state dict, not in the module
    std::vector<std::string> errors;           // everything else, a sentence each
    // What had been written when the disk, a device or a user-defined tensor's own code failed in
    // the middle of copying in place. Empty if nothing had.
    std::vector<std::string> written;
  };
  LoadError(const std::string& what, Problems problems);
  LoadError(const LoadError&) noexcept;
  LoadError& operator=(const LoadError&) noexcept;
  ~LoadError() override;

  const std::vector<std::string>& missing_keys() const noexcept { return problems_->missing_keys; }
  const std::vector<std::string>& unexpected_keys() const noexcept {
    return problems_->unexpected_keys;
  }
  const std::vector<std::string>& errors() const noexcept { return problems_->errors; }
  const std::vector<std::string>& written() const noexcept { return problems_->written; }
  bool torn() const noexcept { return !problems_->written.empty(); }

 private:
  std::shared_ptr<const Problems> problems_;
};

// A broken promise inside Tenon. Never reachable from what a caller passes or a file holds: please
// report it.
class TENON_API InternalError : public Error {
 public:
  using Error::Error;
  ~InternalError() override;
};

}  // namespace tenon
