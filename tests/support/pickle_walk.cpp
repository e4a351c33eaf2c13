#include "support/pickle_walk.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

namespace tenon {

namespace {

// What follows an opcode.
enum class Follows : std::uint8_t {
  unknown,
  nothing,
  one,
  two,
  four,
  eight,
  line,
  two_lines,
  counted_by_one,
  counted_by_four,
  counted_by_eight
};

// Every opcode of protocols 0 to 5.
Follows follows(std::uint8_t op) {
  switch (op) {
    case 0x80:                                    // PROTO
    case 'K':                                     // BININT1
    case 'h':                                     // BINGET
    case 'q':                                     // BINPUT
    case 0x82: return Follows::one;               // EXT1
    case 'M':                                     // BININT2
    case 0x83: return Follows::two;               // EXT2
    case 'J':                                     // BININT
    case 'j':                                     // LONG_BINGET
    case 'r':                                     // LONG_BINPUT
    case 0x84: return Follows::four;              // EXT4
    case 'G':                                     // BINFLOAT
    case 0x95: return Follows::eight;             // FRAME
    case 'I':                                     // INT
    case 'L':                                     // LONG
    case 'F':                                     // FLOAT
    case 'S':                                     // STRING
    case 'V':                                     // UNICODE
    case 'P':                                     // PERSID
    case 'g':                                     // GET
    case 'p': return Follows::line;               // PUT
    case 'c':                                     // GLOBAL
    case 'i': return Follows::two_lines;          // INST
    case 'U':                                     // SHORT_BINSTRING
    case 'C':                                     // SHORT_BINBYTES
    case 0x8a:                                    // LONG1
    case 0x8c: return Follows::counted_by_one;    // SHORT_BINUNICODE
    case 'T':                                     // BINSTRING
    case 'B':                                     // BINBYTES
    case 'X':                                     // BINUNICODE
    case 0x8b: return Follows::counted_by_four;   // LONG4
    case 0x8d:                                    // BINUNICODE8
    case 0x8e:                                    // BINBYTES8
    case 0x96: return Follows::counted_by_eight;  // BYTEARRAY8
    default:
      return std::strchr("(.012NQRabdloestu})]", op) != nullptr && op != 0 ? Follows::nothing
             : op == 0x81 || (op >= 0x85 && op <= 0x89) || (op >= 0x8f && op <= 0x94) ||
                     op == 0x97 || op == 0x98
                 ? Follows::nothing
                 : Follows::unknown;
  }
}

// As much of a value as names and calls are made of.
struct Item {
  enum class Kind : std::uint8_t { mark, text, global, tuple, made, other };
  Kind kind = Kind::other;
  std::string_view text = {};  // of a text
  PickledName name = {};       // of a global, and of what was made by calling one
  std::size_t count = 0;       // of a tuple
  // The second part of a tuple, if it is a global: the class in a persistent id.
  PickledName second = {};
};

class Walker {
 public:
  explicit Walker(std::string_view program) : left_(program) {}

  PickleWalk walk() {
    try {
      while (!stopped_) step();
      if (!left_.empty()) problem("bytes behind the end");
    } catch (const std::runtime_error& error) {
      problem(error.what());
    }
    return std::move(walk_);
  }

 private:
  void problem(std::string what) { walk_.problems.push_back(std::move(what)); }

  // ---- the bytes

  std::string_view take(std::uint64_t n) {
    if (n > left_.size()) throw std::runtime_error("the program ends within an operation");
    const auto taken = left_.substr(0, static_cast<std::size_t>(n));
    left_.remove_prefix(static_cast<std::size_t>(n));
    return taken;
  }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    const auto taken = take(bytes);
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(taken[i]);
    return value;
  }
  std::string_view line() {
    const std::size_t end = left_.find('\n');
    if (end == left_.npos) throw std::runtime_error("the program ends within a line");
    const auto taken = take(end);
    take(1);
    return taken;
  }

  // ---- the stack

  void push(Item item) { stack_.push_back(std::move(item)); }
  void push_other() { push({}); }
  Item pop() {
    if (stack_.empty() || stack_.back().kind == Item::Kind::mark)
      throw std::runtime_error("an operation without the values it needs");
    Item item = std::move(stack_.back());
    stack_.pop_back();
    return item;
  }
  const Item& top() const {
    if (stack_.empty() || stack_.back().kind == Item::Kind::mark)
      throw std::runtime_error("an operation without the values it needs");
    return stack_.back();
  }
  // Everything above the last mark, which goes too.
  std::vector<Item> pop_to_mark() {
    std::size_t at = stack_.size();
    while (at > 0 && stack_[at - 1].kind != Item::Kind::mark) --at;
    if (at == 0) throw std::runtime_error("an operation without its mark");
    std::vector<Item> items(
        std::make_move_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(at)),
        std::make_move_iterator(stack_.end()));
    stack_.resize(at - 1);
    return items;
  }
  void push_tuple(const std::vector<Item>& parts) {
    Item tuple{Item::Kind::tuple};
    tuple.count = parts.size();
    if (parts.size() > 1 && parts[1].kind == Item::Kind::global) tuple.second = parts[1].name;
    push(std::move(tuple));
  }
  void push_tuple_of(std::size_t n) {
    std::vector<Item> parts(n);
    for (std::size_t i = n; i-- > 0;) parts[i] = pop();
    push_tuple(parts);
  }
  void remember(std::uint64_t index) {
    if (!memo_.contains(index)) ++memoized_;
    memo_[index] = top();
  }
  void recall(std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) throw std::runtime_error("a memo that was never set");
    push(found->second);
  }

  // ---- names and calls

  void global(std::string_view module, std::string_view name) {
    walk_.globals.push_back({std::string(module), std::string(name)});
    push({Item::Kind::global, {}, walk_.globals.back()});
  }
  void stack_global() {
    const Item name = pop(), module = pop();
    if (name.kind != Item::Kind::text || module.kind != Item::Kind::text)
      problem("a global whose name is no text");
    global(module.text, name.text);
  }
  void called(const char* how, const Item& callee, std::size_t arguments) {
    if (callee.kind != Item::Kind::global) problem(std::string(how) + " of what is no global");
    walk_.calls.push_back({how, callee.name, arguments});
    push({Item::Kind::made, {}, callee.name});
  }
  void call(const char* how) {
    const Item arguments = pop(), callee = pop();
    if (arguments.kind != Item::Kind::tuple) problem(std::string(how) + " with no tuple");
    called(how, callee, arguments.count);
  }
  void call_with_keywords() {
    pop();
    call("NEWOBJ_EX");
  }
  // A class and its arguments above a mark.
  void call_above_mark() {
    auto items = pop_to_mark();
    if (items.empty()) throw std::runtime_error("OBJ without a class");
    called("OBJ", items.front(), items.size() - 1);
  }
  void build() {
    pop();
    if (top().kind != Item::Kind::made) problem("BUILD of what no call made");
    walk_.calls.push_back({"BUILD", top().name, 1});
  }
  void extension(std::size_t bytes) {
    problem("EXT code " + std::to_string(number(bytes)));
    push_other();
  }
  void persistent() {
    const Item id = pop();
    if (id.kind == Item::Kind::tuple && id.count == 5 && !id.second.name.empty())
      walk_.storages.push_back(id.second);
    else
      problem("a persistent id that is not the tuple of a storage");
    push_other();
  }

  // ---- the operations

  void step() {
    const auto op = static_cast<std::uint8_t>(take(1)[0]);
    walk_.opcodes.insert(op);
    switch (follows(op)) {
      case Follows::unknown:
        throw std::runtime_error("no opcode of any protocol: " + std::to_string(op));
      case Follows::nothing: return bare(op);
      case Follows::counted_by_one: return counted(op, number(1));
      case Follows::counted_by_four: return counted(op, number(4));
      case Follows::counted_by_eight: return counted(op, number(8));
      case Follows::line: return with_line(op, line());
      case Follows::two_lines: {
        const auto module = line(), name = line();
        if (op == 'c') return global(module, name);
        const auto arguments = pop_to_mark();
        global(module, name);
        return called("INST", pop(), arguments.size());
      }
      default: return with_number(op);
    }
  }
  void counted(std::uint8_t op, std::uint64_t n) {
    const auto text = take(n);
    if (op == 'U' || op == 'T' || op == 'X' || op == 0x8c || op == 0x8d)
      return push({Item::Kind::text, text});
    push_other();
  }
  void with_line(std::uint8_t op, std::string_view line) {
    if (op == 'g' || op == 'p') {
      std::uint64_t index = 0;
      for (const char c : line) {
        if (c < '0' || c > '9') throw std::runtime_error("a memo number that is none");
        index = index * 10 + static_cast<std::uint64_t>(c - '0');
      }
      return op == 'g' ? recall(index) : remember(index);
    }
    if (op == 'P') {
      problem("a persistent id that is a line");
      return push_other();
    }
    // The quotes of a STRING are no part of it; escapes in either are kept, which is enough to know
    // that it is not in a table.
    if (op == 'S' && line.size() >= 2) line = line.substr(1, line.size() - 2);
    if (op == 'S' || op == 'V') return push({Item::Kind::text, line});
    push_other();
  }
  void with_number(std::uint8_t op) {
    switch (op) {
      case 0x80: take(1); return;
      case 0x95: take(8); return;
      case 'h': return recall(number(1));
      case 'j': return recall(number(4));
      case 'q': return remember(number(1));
      case 'r': return remember(number(4));
      case 0x82: return extension(1);
      case 0x83: return extension(2);
      case 0x84: return extension(4);
      case 'K': take(1); break;
      case 'M': take(2); break;
      case 'J': take(4); break;
      default: take(8); break;  // BINFLOAT
    }
    push_other();
  }
  void bare(std::uint8_t op) {
    switch (op) {
      case '(': return push({Item::Kind::mark});
      case '.': return stop();
      case '0':
        if (!stack_.empty() && stack_.back().kind == Item::Kind::mark) return stack_.pop_back();
        pop();
        return;
      case '1': pop_to_mark(); return;
      case '2': return push(top());
      case ')': return push_tuple({});
      case 0x85: return push_tuple_of(1);
      case 0x86: return push_tuple_of(2);
      case 0x87: return push_tuple_of(3);
      case 't': return push_tuple(pop_to_mark());
      case 'l':
      case 'd':
      case 0x91:  // FROZENSET
        pop_to_mark();
        return push_other();
      case 'a': pop(); return (void)top();
      case 's':
        pop();
        pop();
        return (void)top();
      case 'e':
      case 'u':
      case 0x90:  // ADDITEMS
        pop_to_mark();
        return (void)top();
      case 0x93: return stack_global();
      case 0x94: return remember(memoized_);
      case 'R': return call("REDUCE");
      case 0x81: return call("NEWOBJ");
      case 0x92: return call_with_keywords();
      case 'o': return call_above_mark();
      case 'b': return build();
      case 'Q': return persistent();
      case 0x98: return (void)top();  // READONLY_BUFFER
      default: return push_other();   // None, True, False, empty lists, dicts and sets, buffers
    }
  }
  void stop() {
    pop();
    if (!stack_.empty()) problem("values that nobody took");
    stopped_ = true;
  }

  std::string_view left_;
  PickleWalk walk_;
  std::vector<Item> stack_;
  std::map<std::uint64_t, Item> memo_;
  std::uint64_t memoized_ = 0;  // as many as there are: what MEMOIZE counts
  bool stopped_ = false;
};

}  // namespace

PickleWalk walk_pickle(std::string_view program) { return Walker(program).walk(); }

}  // namespace tenon
