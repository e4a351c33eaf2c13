// A walk over the operations of a pickle, written from the protocol alone: it shares nothing with
// the reader and the writer in src/io, so that it can judge them.
//
// The walk executes nothing. It follows the stack, the memo and the marks far enough to know every
// name that an unpickler would look up, and everything it would call.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// A class or function as a pickle names it. Names that are not texts, which only a hostile program
// has, are empty and noted as a problem.
struct PickledName {
  std::string module, name;

  std::string str() const { return module + "." + name; }
  friend auto operator<=>(const PickledName&, const PickledName&) = default;
};

// Something an unpickler would do beside making plain values.
struct PickledCall {
  std::string how;  // "REDUCE", "NEWOBJ", "NEWOBJ_EX", "INST", "OBJ", "BUILD"
  PickledName callee;
  std::size_t arguments = 0;  // of BUILD, always 1
};

struct PickleWalk {
  std::vector<PickledName> globals;  // in the order of the program, as often as they come
  std::vector<PickledCall> calls;
  std::vector<PickledName> storages;  // the class in each persistent id that has one
  std::set<std::uint8_t> opcodes;
  // What no unpickler would run to its end, and what the walk cannot follow: an empty stack, a
  // call of something that is no global, an EXT code, bytes behind the end.
  std::vector<std::string> problems;
};

PickleWalk walk_pickle(std::string_view program);

}  // namespace tenon
