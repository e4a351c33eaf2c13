// Writes pickle programs, byte for byte as Python's own pickler writes them with protocol 2.
//
// Note [The memo of a pickle]
// Python puts every object that is no number into the memo when it has been written, under the next
// number, and writes only that number when the same object comes again. What is the same is told by
// identity: here the address of what stands for the object, which outlives the writer.
//
// Note [Names in what we write]
// A pickle makes Python import what it names and call it. So a name is written only if it is in the
// table of io/pickle/global_names.h, which is also all that we read. Names of classes in a Value
// come from files (a note in safetensors, a pickle that is read inert) and may hold anything,
// newlines included, behind which further operations could follow.
//
// Note [What reading counts]
// Reading refuses more objects, items and numbers of the memo than io/pickle/pickle_limits.h has.
// So the writer follows its own program as the machine that runs it will: beyond any of these
// numbers is a ValueError, and whatever it has finished is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/pickle/pickle_ops.h"
#include "io/support/metered_text.h"

namespace tenon {

class PickleWriter {
 public:
  // Charged to the meter, as all that it keeps.
  explicit PickleWriter(ReadMeter& meter);
  ~PickleWriter() { meter_.release(memo_.size() * kRemembered); }
  PickleWriter(const PickleWriter&) = delete;
  PickleWriter& operator=(const PickleWriter&) = delete;

  std::string_view bytes() const noexcept { return out_.view(); }  // the program so far
  // All of it, with its last operation.
  std::string finish() {
    op(pickle_op::kStop);
    return out_.take();
  }

  // True, and written, if the object is in the memo.
  bool again(const void* identity);
  // Puts what was written last into the memo. Null: an object nobody will ask for again.
  void remember(const void* identity);

  // What is in the memo for one object stands for another too.
  void remember_as(const void* known, const void* other) { add(other, memo_.at(known)); }

  void none() { op(pickle_op::kNone); }
  void boolean(bool value) { op(value ? pickle_op::kNewTrue : pickle_op::kNewFalse); }
  void integer(std::int64_t value);
  // Two's complement, lowest first, shortest. Long ones with an identity go into the memo, which
  // Python's do not: a file may have one in many places.
  void big_integer(std::string_view bytes, const void* identity = nullptr);
  void real(double value);
  // Into the memo too, as the next two. ValueError if it is not UTF-8, or 4 GiB or more.
  void text(std::string_view value, const void* identity);
  // TypeError if the table of io/pickle/global_names.h does not have it.
  void global(std::string_view module, std::string_view name);
  void tuple_of_integers(const std::int64_t* values, std::size_t n);

  void mark() { op(pickle_op::kMark); }
  void op(pickle_op::PickleOp op) {
    out_ += static_cast<char>(op);
    count(op);
  }
  // How many values the machine that runs the program has on its stack now.
  std::size_t waiting() const noexcept { return waiting_; }
  // How many of its objects have items or a state.
  std::size_t containers() const noexcept { return containers_; }
  // Behind an object and its state.
  void build(bool has_items) {
    if (!has_items) count_container();
    op(pickle_op::kBuild);
  }
  // Behind the items of a tuple, which begins with begin_tuple.
  void begin_tuple(std::size_t n) {
    if (n > 3) mark();
  }
  void end_tuple(std::size_t n);

  // Items of a list, or pairs of a dict, in batches; `item` writes one.
  enum class Batches : std::uint8_t {
    of_list,
    of_dict,     // a dict itself
    of_mapping,  // what is set into an object, one by one
  };
  template <class Item>
  void items(Batches kind, std::size_t count, Item&& item) {
    const pickle_op::PickleOp one =
        kind == Batches::of_list ? pickle_op::kAppend : pickle_op::kSetItem;
    const pickle_op::PickleOp several =
        kind == Batches::of_list ? pickle_op::kAppends : pickle_op::kSetItems;
    if (count == 0) return;
    count_container();
    if (count == 1) {
      item(0);
      op(one);
      return;
    }
    for (std::size_t at = 0; at < count || (kind == Batches::of_dict && at == count);) {
      const std::size_t n = count - at < kBatch ? count - at : kBatch;
      // A single one is left over: only Python's loop over an iterator notices.
      if (n == 1 && kind == Batches::of_mapping) {
        item(at);
        op(one);
        return;
      }
      mark();
      for (std::size_t i = 0; i < n; ++i) item(at + i);
      op(several);
      at += n;
      if (n < kBatch) return;
    }
  }

 private:
  static constexpr std::size_t kBatch = 1000;
  template <class T>
  void number(T value) {
    out_ += std::string_view(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(const void* identity, std::uint32_t number) {
    if (memo_.emplace(identity, number).second) meter_.memory(kRemembered);
  }

  // Note [What reading counts]
  void count(pickle_op::PickleOp op);
  void count_node();
  void count_container();
  void count_waiting();

  static constexpr std::uint64_t kRemembered = 48;

  ReadMeter& meter_;
  MeteredText out_;
  std::uint32_t next_ = 0;
  std::size_t nodes_ = 0, containers_ = 0;
  std::size_t waiting_ = 0;         // values on the stack
  std::vector<std::size_t> marks_;  // how many are below each
  std::unordered_map<const void*, std::uint32_t> memo_;
  std::unordered_map<std::string, std::uint32_t> globals_;
};

}  // namespace tenon
