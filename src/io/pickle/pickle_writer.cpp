#include "io/pickle/pickle_writer.h"

#include <bit>
#include <limits>

#include "base/text.h"
#include "core/python_text.h"
#include "io/pickle/global_names.h"
#include "io/pickle/pickle_limits.h"
#include "io/support/utf8.h"
#include "tenon/error.h"

namespace tenon {

using namespace pickle_op;

namespace {

[[noreturn]] void too_many(std::size_t most, std::string_view what) {
  throw ValueError(concat("save: more than ", most, " ", what,
                          " are not read again: put large numbers of values into tensors"));
}

}  // namespace

PickleWriter::PickleWriter(ReadMeter& meter) : meter_(meter), out_(meter) {
  op(kProto);
  number(std::uint8_t{2});
}

bool PickleWriter::again(const void* identity) {
  if (identity == nullptr) return false;
  const auto found = memo_.find(identity);
  if (found == memo_.end()) return false;
  if (found->second < 256) {
    op(kBinGet);
    number(static_cast<std::uint8_t>(found->second));
  } else {
    op(kLongBinGet);
    number(found->second);
  }
  return true;
}

void PickleWriter::count(PickleOp op) {
  switch (op) {
    case kNone:
    case kNewTrue:
    case kNewFalse:
    case kBinInt:
    case kBinInt1:
    case kBinInt2:
    case kLong1:
    case kLong4:
    case kBinFloat:
    case kBinUnicode:
    case kBinGet:
    case kLongBinGet: return count_waiting();
    case kEmptyList:
    case kEmptyDict:
    case kEmptyTuple:
    case kGlobal: count_node(); return count_waiting();
    case kTuple1:
    case kBinPersId: return count_node();
    case kTuple2:
    case kReduce: --waiting_; return count_node();
    case kTuple3: waiting_ -= 2; return count_node();
    case kAppend:
    case kBuild: --waiting_; return;
    case kSetItem: waiting_ -= 2; return;
    case kMark: marks_.push_back(waiting_); return;
    case kTuple:
    case kAppends:
    case kSetItems:
      waiting_ = marks_.back();
      marks_.pop_back();
      if (op != kTuple) return;
      count_node();
      return count_waiting();
    default: return;
  }
}

void PickleWriter::count_node() {
  if (nodes_ == kMostNodes) too_many(kMostNodes, "objects");
  ++nodes_;
}

void PickleWriter::count_container() {
  if (containers_ == kMostContainers) too_many(kMostContainers, "lists and dicts with items");
  ++containers_;
}

void PickleWriter::count_waiting() {
  if (waiting_ >= kMostWaiting) too_many(kMostWaiting, "values of a tuple");
  ++waiting_;
}

void PickleWriter::remember(const void* identity) {
  if (next_ > kHighestMemo) too_many(std::size_t{kHighestMemo} + 1, "objects and texts");
  if (identity != nullptr) add(identity, next_);
  if (next_ < 256) {
    op(kBinPut);
    number(static_cast<std::uint8_t>(next_));
  } else {
    op(kLongBinPut);
    number(next_);
  }
  ++next_;
}

void PickleWriter::integer(std::int64_t value) {
  if (value >= 0 && value <= 0xff) {
    op(kBinInt1);
    number(static_cast<std::uint8_t>(value));
  } else if (value >= 0 && value <= 0xffff) {
    op(kBinInt2);
    number(static_cast<std::uint16_t>(value));
  } else if (value >= std::numeric_limits<std::int32_t>::min() &&
             value <= std::numeric_limits<std::int32_t>::max()) {
    op(kBinInt);
    number(static_cast<std::int32_t>(value));
  } else {
    // The shortest whose highest bit is the sign.
    std::string_view all(reinterpret_cast<const char*>(&value), sizeof value);
    const char sign = value < 0 ? '\xff' : '\0';
    while (all.size() > 1 && all.back() == sign && ((all[all.size() - 2] ^ sign) & 0x80) == 0)
      all.remove_suffix(1);
    big_integer(all);
  }
}

void PickleWriter::big_integer(std::string_view bytes, const void* identity) {
  if (bytes.size() < 256) {
    op(kLong1);
    number(static_cast<std::uint8_t>(bytes.size()));
    out_ += bytes;
    return;
  }
  if (again(identity)) return;
  op(kLong4);
  number(static_cast<std::uint32_t>(bytes.size()));
  out_ += bytes;
  if (identity != nullptr) remember(identity);
}

void PickleWriter::real(double value) {
  op(kBinFloat);
  number(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)));
}

void PickleWriter::text(std::string_view value, const void* identity) {
  if (again(identity)) return;
  if (!is_utf8(value)) throw ValueError("save: text that is not UTF-8");
  if (value.size() > std::numeric_limits<std::uint32_t>::max())
    throw ValueError("save: a text of 4 GiB or more");
  op(kBinUnicode);
  number(static_cast<std::uint32_t>(value.size()));
  out_ += value;
  remember(identity);
}

void PickleWriter::global(std::string_view module, std::string_view name) {
  const auto [place, fresh] = globals_.try_emplace(concat(module, "\n", name, "\n"), 0);
  if (again(&place->second)) return;  // nodes of the map stay where they are
  // Note [Names in what we write]: text that came from elsewhere never becomes an operation.
  if (meaning_of(module, name).role == Role::unknown) {
    globals_.erase(place);
    throw TypeError(concat("save: ", python_quoted(module.substr(0, 200)), " has no ",
                           python_quoted(name.substr(0, 200)),
                           " that a checkpoint may name: leave the object out"));
  }
  op(kGlobal);
  out_ += place->first;
  remember(&place->second);
}

void PickleWriter::tuple_of_integers(const std::int64_t* values, std::size_t n) {
  begin_tuple(n);
  for (std::size_t i = 0; i < n; ++i) integer(values[i]);
  end_tuple(n);
  if (n != 0) remember(nullptr);
}

void PickleWriter::end_tuple(std::size_t n) {
  op(n == 0 ? kEmptyTuple : n == 1 ? kTuple1 : n == 2 ? kTuple2 : n == 3 ? kTuple3 : kTuple);
}

}  // namespace tenon
