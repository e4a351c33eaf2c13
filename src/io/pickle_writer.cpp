#include "io/pickle_writer.h"

#include <bit>
#include <limits>

#include "base/text.h"
#include "core/python_text.h"
#include "io/global_names.h"
#include "io/utf8.h"
#include "tenon/error.h"

namespace tenon {

using namespace pickle_op;

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

void PickleWriter::remember(const void* identity) {
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
