// The pickle machine: runs the program in a pickle without ever calling anything, and gives what it
// describes as a graph of plain nodes. It knows no tensors.
//
// Note [What a pickle may do]
// A pickle is a program that makes objects by calling functions it names. Here a name is text, a
// call is a node with the name and the arguments, and a state that is set is kept beside it:
// nothing is looked up, imported or run. Names outside a fixed list are refused where they appear,
// even if nothing is done with them, unless the caller wants to look at such a file (inert).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/support/read_meter.h"
#include "tenon/detail/api.h"

namespace tenon {

// Bytes of an integer that are read, and so written.
inline constexpr std::size_t kLongestInteger = 1024;
// The same of a whole pickle in an archive.
inline constexpr std::uint64_t kLargestPickle = std::uint64_t{256} << 20;

// A value: what is small is in it, the rest is a node, or bytes of the pickle.
struct PickleItem {
  enum class Kind : std::uint8_t {
    nothing,  // no value at all
    none,
    boolean,
    integer,
    big_integer,  // bytes, two's complement, lowest first
    real,
    text,  // UTF-8
    bytes,
    node,
  };
  Kind kind = Kind::nothing;
  bool taken = false;        // from the memo, where it says that it has been
  std::uint32_t length = 0;  // of text, bytes and big integers
  union {
    std::int64_t integer = 0;  // also booleans
    double real;
    std::uint64_t place;  // of bytes in the pickle, or the number of a node
  };
};

struct PickleNode {
  enum class Kind : std::uint8_t {
    list,
    tuple,
    dict,  // items are keys and values in turn
    set,
    frozen_set,
    byte_array,  // `a` has the bytes
    global,      // a name: module `a`, name `b`
    call,        // of global `a` with the tuple `b`; items appended or set afterwards
    object,      // made by NEWOBJ, the same otherwise
    persistent,  // something outside the pickle, named by `a`
  };
  explicit PickleNode(Kind what) noexcept : kind(what) {}

  Kind kind;
  bool settled = false;          // a part of something: nothing is added to it any more
  std::uint32_t extra = kNone;   // items and state, of what may change
  std::uint32_t count = 0;       // of a tuple's items; of a global, what its name means
  std::uint32_t shared = kNone;  // a number of its own, if it is used in several places
  std::uint16_t depth = 0;       // levels below it, as far as they were there when it was made
  std::uint64_t offset = 0;      // where in the file it was made
  PickleItem a = {}, b = {};

  static constexpr std::uint32_t kNone = 0xffffffff;
};

class TENON_API Pickle {
 public:
  // What a name means to its reader, whose low byte is 0 if it means nothing.
  using Meaning = std::uint32_t (*)(std::string_view module, std::string_view name);
  enum class Names : std::uint8_t { known, any };  // those that mean something, or all

  // Runs one program, which begins with the first of these bytes. `base` is where they are in the
  // file. FormatError for anything that is not a complete, well-formed program of allowed names,
  // and for what the meter does not allow.
  Pickle(std::span<const std::byte> bytes, std::uint64_t base, const std::string& file,
         Meaning meaning, Names allowed, ReadMeter& meter);

  PickleItem root() const noexcept { return root_; }
  std::size_t size() const noexcept { return size_; }  // bytes that belong to the program
  const std::string& file() const noexcept { return file_; }

  const PickleNode& node(const PickleItem& item) const {
    return nodes_[static_cast<std::size_t>(item.place)];
  }
  std::size_t shared_nodes() const noexcept { return shared_; }
  std::span<const PickleItem> items(const PickleNode& node) const;
  // What BUILD gave it; of several, the last. Kind nothing if there was none.
  PickleItem state(const PickleNode& node) const;
  std::string_view text(const PickleItem& item) const;  // text, bytes and big integers
  // Whether the same text is in several places.
  bool is_shared_text(const PickleItem& item) const noexcept {
    return std::binary_search(shared_texts_.begin(), shared_texts_.end(), item.place);
  }
  // "module.name" of a global.
  std::string name_of(const PickleNode& global) const;

  [[noreturn]] void fail(const PickleNode& at, const std::string& reason) const;

 private:
  friend class PickleMachine;
  // What came at once, as nearly always, is in the pool; what came in several goes has its own.
  struct Extra {
    std::size_t place = 0, count = 0;
    std::vector<PickleItem> items;
    PickleItem state;
  };

  std::span<const std::byte> bytes_;
  std::uint64_t base_;
  const std::string& file_;
  PickleItem root_;
  std::size_t size_ = 0;
  std::uint32_t shared_ = 0;
  std::vector<std::uint64_t> shared_texts_;  // their places, sorted
  std::vector<PickleNode> nodes_;
  std::vector<PickleItem> pool_;  // items of tuples and of most containers
  std::vector<Extra> extras_;
};

}  // namespace tenon
