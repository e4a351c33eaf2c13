#include "pickle_program.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace tenon {

namespace {

constexpr const char* kTexts[] = {
    "",    "a",       "b", "a.b",    "_metadata", "storage",   "cpu", "latin1",          "conj",
    "neg", "version", "0", "cuda:0", "meta",      "torch.x\n", "é",   "torch.sparse_coo"};
constexpr const char* kGlobals[] = {
    "collections\nOrderedDict\n",
    "collections\nCounter\n",
    "__builtin__\nset\n",
    "builtins\nfrozenset\n",
    "__builtin__\nbytes\n",
    "builtins\nbytearray\n",
    "__builtin__\ncomplex\n",
    "_codecs\nencode\n",
    "torch\nSize\n",
    "torch\ndevice\n",
    "torch\nfloat32\n",
    "torch\nuint16\n",
    "torch\nTensor\n",
    "torch\nper_tensor_affine\n",
    "torch\nper_channel_affine\n",
    "torch.serialization\n_get_layout\n",
    "torch.nn.parameter\nParameter\n",
    "torch.nn.parameter\nUninitializedParameter\n",
    "torch.nn.parameter\nUninitializedBuffer\n",
    "torch._utils\n_rebuild_tensor_v2\n",
    "torch._utils\n_rebuild_tensor_v3\n",
    "torch._utils\n_rebuild_parameter\n",
    "torch._utils\n_rebuild_parameter_with_state\n",
    "torch._utils\n_rebuild_meta_tensor_no_storage\n",
    "torch._utils\n_rebuild_sparse_tensor\n",
    "torch._utils\n_rebuild_qtensor\n",
    "torch._utils\n_rebuild_nested_tensor\n",
    "torch._tensor\n_rebuild_from_type_v2\n",
    "os\nsystem\n",
    "__main__\nNet\n",
};
constexpr const char* kStorages[] = {
    "torch\nFloatStorage\n", "torch\nLongStorage\n",         "torch\nByteStorage\n",
    "torch\nQInt8Storage\n", "torch\nComplexFloatStorage\n", "torch.storage\nUntypedStorage\n"};
constexpr const char* kDTypes[] = {"torch\nfloat32\n", "torch\nuint16\n", "torch\nint64\n",
                                   "torch\nfloat8_e5m2\n"};
constexpr const char* kLayouts[] = {"torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc",
                                    "torch.sparse_bsr", "torch.strided"};

class Program {
 public:
  explicit Program(Choices& choices) : in_(choices) {}

  std::string make() {
    out_ = "\x80";
    out_ += static_cast<char>(2 + in_.below(4));
    for (int steps = 0; steps < 400 && !in_.empty(); ++steps) step();
    // Whatever is left becomes one value.
    while (marks() > 0) close('t');
    if (stack_.empty()) op('N', 1);
    while (stack_.size() > 1) {
      out_ += '\x86';
      stack_.pop_back();
    }
    return out_ + ".";
  }

 private:
  enum class Kind : std::uint8_t { mark, value, list, dict, tuple };

  // ---- the stack as it will be

  std::size_t marks() const {
    return static_cast<std::size_t>(std::count(stack_.begin(), stack_.end(), Kind::mark));
  }
  std::size_t above_mark() const {
    std::size_t n = 0;
    while (n < stack_.size() && stack_[stack_.size() - 1 - n] != Kind::mark) ++n;
    return n;
  }
  bool has(std::size_t n) const { return above_mark() >= n; }
  Kind top(std::size_t from = 1) const { return stack_[stack_.size() - from]; }
  void drop(std::size_t n) { stack_.resize(stack_.size() - n); }
  void op(char code, int pushed, Kind kind = Kind::value) {
    out_ += code;
    for (int i = 0; i < pushed; ++i) stack_.push_back(kind);
  }
  void close(char code) {
    drop(above_mark() + 1);
    op(code, 1, code == 't' ? Kind::tuple : code == 'l' ? Kind::list : Kind::dict);
  }

  // ---- parts

  void integer(std::int64_t value) {
    if (value >= 0 && value < 256) {
      op('K', 1);
      out_ += static_cast<char>(value);
      return;
    }
    op('\x8a', 1);
    out_ += '\x08';
    for (int i = 0; i < 8; ++i)
      out_ += static_cast<char>(static_cast<std::uint64_t>(value) >> 8 * i);
  }
  void text(std::string_view text) {
    op('X', 1);
    for (int i = 0; i < 4; ++i) out_ += static_cast<char>(text.size() >> 8 * i);
    out_ += text;
  }
  void global(const char* name) {
    op('c', 1);
    out_ += name;
  }
  void tuple(std::size_t n) {
    // Its parts are above a mark, or few.
    if (n > 3) return close('t');
    drop(n);
    op(n == 0 ? ')' : static_cast<char>(0x84 + n), 1, Kind::tuple);
  }
  void mark() { op('(', 1, Kind::mark); }
  void call() {
    out_ += 'R';
    drop(2);
    stack_.push_back(Kind::value);
  }
  void numbers(std::size_t n) {
    if (n > 3) mark();
    for (std::size_t i = 0; i < n; ++i) integer(in_.number());
    tuple(n);
  }
  // Something from before, if there is any.
  void known() {
    if (memo_ == 0) return op('N', 1);
    op('h', 1);
    out_ += static_cast<char>(in_.below(memo_));
  }
  void part(std::string_view otherwise) {
    if (in_.one_in(8))
      known();
    else
      text(otherwise);
  }

  void storage() {
    mark();
    part("storage");
    global(in_.of(kStorages));
    text(std::string(1, static_cast<char>('0' + in_.below(4))));
    part("cpu");
    integer(in_.one_in(4) ? in_.number() : std::int64_t{4} << in_.below(4));
    close('t');
    drop(1);
    op('Q', 1);
  }
  void tensor() {
    const bool typed = in_.one_in(4);
    global(typed ? "torch._utils\n_rebuild_tensor_v3\n" : "torch._utils\n_rebuild_tensor_v2\n");
    mark();
    storage();
    integer(in_.one_in(3) ? in_.number() : 0);
    const std::size_t dims = in_.below(3);
    numbers(dims);
    numbers(dims);
    op(in_.one_in(5) ? '\x88' : '\x89', 1);
    global("collections\nOrderedDict\n");
    tuple(0);
    call();
    if (typed) global(in_.of(kDTypes));
    if (in_.one_in(6)) known();
    close('t');
    call();
  }
  void sparse() {
    global("torch._utils\n_rebuild_sparse_tensor\n");
    global("torch.serialization\n_get_layout\n");
    text(in_.of(kLayouts));
    tuple(1);
    call();
    mark();
    for (std::size_t n = 2 + in_.below(2); n > 0; --n) in_.one_in(4) ? known() : tensor();
    numbers(in_.below(4));
    if (in_.one_in(2)) op('\x89', 1);
    close('t');
    tuple(2);
    call();
  }
  void quantized() {
    global("torch._utils\n_rebuild_qtensor\n");
    mark();
    storage();
    integer(0);
    numbers(1);
    numbers(1);
    const bool channels = in_.one_in(2);
    mark();
    global(channels ? "torch\nper_channel_affine\n" : "torch\nper_tensor_affine\n");
    channels ? tensor() : integer(in_.number());
    channels ? tensor() : integer(in_.number());
    if (channels) integer(in_.number());
    close('t');
    op('\x89', 1);
    global("collections\nOrderedDict\n");
    tuple(0);
    call();
    close('t');
    call();
  }
  void parameter() {
    const bool stateful = in_.one_in(2);
    global(stateful ? "torch._utils\n_rebuild_parameter_with_state\n"
                    : "torch._utils\n_rebuild_parameter\n");
    mark();
    in_.one_in(4) ? known() : tensor();
    op('\x88', 1);
    global("collections\nOrderedDict\n");
    tuple(0);
    call();
    if (stateful) known();
    close('t');
    call();
  }
  void nested() {
    global("torch._utils\n_rebuild_nested_tensor\n");
    mark();
    for (int i = 0; i < 4; ++i) in_.one_in(2) ? known() : tensor();
    close('t');
    call();
  }

  void remember() {
    if (!has(1)) return;
    if (in_.one_in(3)) {
      out_ += '\x94';
    } else {
      out_ += 'q';
      out_ += static_cast<char>(in_.one_in(6) ? in_.byte() : memo_);
    }
    memo_ = std::min<std::size_t>(memo_ + 1, 200);
  }

  // ---- one choice

  void step() {
    switch (in_.below(32)) {
      case 0: return op('N', 1);
      case 1: return integer(in_.number());
      case 2: return text(in_.of(kTexts));
      case 3: return text(in_.bytes(12));
      case 4: return op(']', 1, Kind::list);
      case 5: return op('}', 1, Kind::dict);
      case 6: return op('\x8f', 1);  // a set
      case 7: return op(')', 1, Kind::tuple);
      case 8: return mark();
      case 9: return has(1) ? tuple(1) : known();
      case 10: return has(2) ? tuple(2) : known();
      case 11: return has(3) ? tuple(3) : known();
      case 12:
      case 13:
      case 14: return remember();
      case 15:
      case 16: return known();
      case 17: return op(in_.one_in(2) ? '\x88' : '\x89', 1);
      case 18:
        op('G', 1);
        for (int i = 0; i < 8; ++i) out_ += static_cast<char>(in_.byte());
        return;
      case 19: return global(in_.of(kGlobals));
      case 20: return tensor();
      case 21: return parameter();
      case 22: return in_.one_in(2) ? sparse() : nested();
      case 23: return quantized();
      case 24:
        global("collections\nOrderedDict\n");
        tuple(0);
        return call();
      default: return combine();
    }
  }
  // What takes values from the stack, where there are any that fit.
  void combine() {
    const std::size_t n = above_mark();
    const bool marked = n < stack_.size();
    switch (in_.below(10)) {
      case 0:
        if (has(2) && top() == Kind::tuple) {
          out_ += in_.one_in(4) ? '\x81' : 'R';
          drop(2);
          stack_.push_back(Kind::value);
        }
        return;
      case 1:
        if (!has(2)) return;
        out_ += 'a';
        return drop(1);
      case 2:
        if (!has(3)) return;
        out_ += 's';
        return drop(2);
      case 3:
        if (marked) close('t');
        return;
      case 4:
        if (marked) close('l');
        return;
      case 5:
        if (marked && n % 2 == 0) close('d');
        return;
      case 6:
        if (!marked || n + 1 >= stack_.size() || top(n + 2) == Kind::mark) return;
        out_ += n % 2 == 0 && in_.one_in(2) ? 'u' : in_.one_in(4) ? '\x90' : 'e';
        return drop(n + 1);
      case 7:
        if (!has(2)) return;
        out_ += 'b';
        return drop(1);
      case 8:
        if (has(1)) op('2', 1, top());
        return;
      default:
        if (!has(1)) return;
        out_ += '0';
        return drop(1);
    }
  }

  Choices& in_;
  std::string out_;
  std::vector<Kind> stack_;
  std::size_t memo_ = 0;
};

}  // namespace

std::string pickle_program(Choices& choices) { return Program(choices).make(); }

}  // namespace tenon
