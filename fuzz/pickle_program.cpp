#include "pickle_program.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace tenon {

namespace {

constexpr const char* kTexts[] = {
    "",       "a",      "b",         "a.b",      "_metadata",       "storage",
    "cpu",    "latin1", "conj",      "neg",      "version",         "0",
    "cuda:0", "meta",   "torch.x\n", "\xc3\xa9", "torch.sparse_coo"};
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
// Each has two storages of its own, so that most are described in one way.
struct StorageClass {
  const char* name;
  std::int64_t size;  // bytes an element
  std::size_t key;    // of the first
};
constexpr StorageClass kFloats{"torch\nFloatStorage\n", 4, 0}, kLongs{"torch\nLongStorage\n", 8, 2},
    kQuantized{"torch\nQInt8Storage\n", 1, 4}, kBytes{"torch.storage\nUntypedStorage\n", 1, 6};
constexpr StorageClass kStorages[] = {kFloats,
                                      kLongs,
                                      {"torch\nByteStorage\n", 1, 8},
                                      {"torch\nBoolStorage\n", 1, 10},
                                      {"torch\nComplexFloatStorage\n", 8, 12}};
constexpr const char* kDTypes[] = {"torch\nfloat32\n", "torch\nuint16\n", "torch\nint64\n",
                                   "torch\nfloat8_e5m2\n"};
constexpr const char* kLayouts[] = {"torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc"};

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
  enum class Kind : std::uint8_t { mark, value, plain, list, dict, set, tuple, global, tensor };

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
  void op(char code, int pushed, Kind kind = Kind::plain) {
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
    op('c', 1, Kind::global);
    out_ += name;
  }
  void tuple(std::size_t n) {
    // Its parts are above a mark, or few.
    if (n > 3) return close('t');
    drop(n);
    op(n == 0 ? ')' : static_cast<char>(0x84 + n), 1, Kind::tuple);
  }
  void mark() { op('(', 1, Kind::mark); }
  void call(Kind made = Kind::value) {
    out_ += 'R';
    drop(2);
    stack_.push_back(made);
  }
  void empty_dict() {
    global("collections\nOrderedDict\n");
    tuple(0);
    call(Kind::dict);
  }
  void numbers(std::initializer_list<std::int64_t> values) {
    for (const std::int64_t value : values) integer(in_.one_in(64) ? in_.number() : value);
    tuple(values.size());
  }
  // Something from before, if there is any; now and then of another kind.
  bool known(Kind kind) {
    const bool any = in_.one_in(64);
    const std::size_t first = in_.byte();
    for (std::size_t tried = 0; tried < memo_.size(); ++tried) {
      const std::size_t i = (first + tried) % memo_.size();
      if (memo_[i] == Kind::mark || (memo_[i] != kind && !any)) continue;
      op('h', 1, memo_[i]);
      out_ += static_cast<char>(i);
      return true;
    }
    return false;
  }
  void known() {
    if (!known(static_cast<Kind>(1 + in_.below(8)))) op('N', 1);
  }

  void storage(const StorageClass& type) {
    const std::size_t key = in_.one_in(64) ? in_.below(kProgramStorages) : type.key + in_.below(2);
    mark();
    text("storage");
    global(type.name);
    text(std::to_string(key));
    text(key == 1 ? "cuda:0" : "cpu");
    integer(in_.one_in(64) ? in_.number() : kProgramStorageBytes / type.size);
    close('t');
    drop(1);
    op('Q', 1, Kind::value);
  }
  void tensor(const StorageClass& type, std::initializer_list<std::int64_t> sizes,
              std::initializer_list<std::int64_t> strides) {
    const bool typed = type.name == kBytes.name;
    global(typed ? "torch._utils\n_rebuild_tensor_v3\n" : "torch._utils\n_rebuild_tensor_v2\n");
    mark();
    storage(type);
    integer(in_.one_in(8) ? static_cast<std::int64_t>(in_.below(4)) : 0);
    numbers(sizes);
    numbers(strides);
    op(in_.one_in(5) && type.name == kFloats.name ? '\x88' : '\x89', 1);
    empty_dict();
    if (typed) global(in_.of(kDTypes));
    if (in_.one_in(12)) known(Kind::dict);
    close('t');
    call(Kind::tensor);
  }
  void tensor() {
    if (in_.one_in(4) && known(Kind::tensor)) return;
    const StorageClass& type = in_.one_in(5) ? kBytes : in_.of(kStorages);
    const auto size = [&] { return static_cast<std::int64_t>(in_.below(3)); };
    switch (in_.below(4)) {
      case 0: return tensor(type, {}, {});
      case 1: return tensor(type, {size()}, {size()});
      case 2: return tensor(type, {size(), 1}, {1, size()});
      default: return tensor(type, {2}, {in_.one_in(2) ? 0 : 1});
    }
  }
  void sparse() {
    const char* const layout = in_.of(kLayouts);
    const bool coo = std::string_view(layout) == "torch.sparse_coo";
    global("torch._utils\n_rebuild_sparse_tensor\n");
    global("torch.serialization\n_get_layout\n");
    text(layout);
    tuple(1);
    call();
    mark();
    // Each storage begins with 0, 1, 2.
    if (coo) {
      tensor(kLongs, {2, 1}, {1, 1});
      tensor(kFloats, {1}, {1});
    } else {
      tensor(kLongs, {3}, {1});
      tensor(kLongs, {2}, {1});
      tensor(kFloats, {2}, {1});
    }
    numbers({2, 2});
    if (coo && in_.one_in(2)) op('\x89', 1);
    close('t');
    tuple(2);
    call();
  }
  void quantized() {
    global("torch._utils\n_rebuild_qtensor\n");
    mark();
    storage(kQuantized);
    integer(0);
    numbers({2, 2});
    numbers({2, 1});
    const bool channels = in_.one_in(2);
    mark();
    global(channels ? "torch\nper_channel_affine\n" : "torch\nper_tensor_affine\n");
    if (channels) {
      tensor(kFloats, {2}, {1});
      tensor(kLongs, {2}, {1});
      integer(in_.one_in(2) ? 0 : 1);
    } else {
      integer(in_.number());
      integer(in_.number());
    }
    close('t');
    op('\x89', 1);
    empty_dict();
    close('t');
    call();
  }
  void parameter() {
    const bool stateful = in_.one_in(2);
    global(stateful ? "torch._utils\n_rebuild_parameter_with_state\n"
                    : "torch._utils\n_rebuild_parameter\n");
    mark();
    tensor(kFloats, {2}, {1});
    op('\x88', 1);
    empty_dict();
    if (stateful && !known(Kind::dict)) op('}', 1, Kind::dict);
    close('t');
    call(Kind::tensor);
  }
  void nested() {
    global("torch._utils\n_rebuild_nested_tensor\n");
    mark();
    for (int i = 0; i < 4; ++i) tensor();
    close('t');
    call();
  }
  void of_type() {
    global("torch._tensor\n_rebuild_from_type_v2\n");
    mark();
    global("torch._utils\n_rebuild_tensor_v2\n");
    global("torch\nTensor\n");
    mark();
    storage(kFloats);
    integer(0);
    numbers({2});
    numbers({1});
    op('\x89', 1);
    empty_dict();
    close('t');
    if (!known(Kind::dict)) op('}', 1, Kind::dict);
    close('t');
    call(Kind::tensor);
  }
  // The calls that make plain values.
  void made() {
    switch (in_.below(6)) {
      case 0:
        global("_codecs\nencode\n");
        text(in_.of(kTexts));
        text("latin1");
        tuple(2);
        return call(Kind::plain);
      case 1:
        global(in_.one_in(2) ? "__builtin__\nset\n" : "builtins\nfrozenset\n");
        if (!known(Kind::list)) op(']', 1, Kind::list);
        tuple(1);
        return call();
      case 2:
        global("collections\nOrderedDict\n");
        if (!known(Kind::dict)) op('}', 1, Kind::dict);
        tuple(1);
        return call(Kind::dict);
      case 3:
        global("torch\nSize\n");
        numbers({2, 3});
        tuple(1);
        return call();
      case 4:
        global("torch.nn.parameter\nUninitializedParameter\n");
        op('\x88', 1);
        tuple(1);
        return call(Kind::tensor);
      default:
        global("torch\ndevice\n");
        text("cuda");
        integer(1);
        tuple(2);
        return call();
    }
  }

  void remember() {
    if (!has(1)) return;
    std::size_t index = memo_.size();
    if (in_.one_in(3)) {
      out_ += '\x94';
    } else {
      if (in_.one_in(8) || index > 200) index = in_.below(201);
      out_ += 'q';
      out_ += static_cast<char>(index);
    }
    if (index >= memo_.size()) memo_.resize(std::min<std::size_t>(index + 1, 250), Kind::mark);
    if (index < memo_.size()) memo_[index] = top();
  }

  // ---- one choice

  void step() {
    switch (in_.below(36)) {
      case 0: return op('N', 1);
      case 1: return integer(in_.number());
      case 2: return text(in_.of(kTexts));
      case 3: return text(in_.letters(12));
      case 4: return op(']', 1, Kind::list);
      case 5: return op('}', 1, Kind::dict);
      case 6: return op('\x8f', 1, Kind::set);
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
      case 19:
        // A name alone is a value only to who reads inert.
        if (in_.one_in(4)) global(in_.of(kGlobals));
        return;
      case 20: return tensor();
      case 21: return parameter();
      case 22: return sparse();
      case 23: return quantized();
      case 24: return in_.one_in(2) ? nested() : of_type();
      case 25: return empty_dict();
      case 26: return made();
      default: return combine();
    }
  }
  // What takes values from the stack, where there are any that fit; now and then, whatever there
  // is.
  void combine() {
    const std::size_t n = above_mark();
    const bool marked = n < stack_.size(), anyhow = in_.one_in(64);
    const auto is = [&](std::size_t from, Kind kind) {
      return from <= stack_.size() && (top(from) == kind || (anyhow && top(from) != Kind::mark));
    };
    switch (in_.below(10)) {
      case 0:
        if (!has(2) || !is(1, Kind::tuple) || !is(2, Kind::global)) return;
        out_ += in_.one_in(4) ? '\x81' : 'R';
        drop(2);
        return stack_.push_back(Kind::value);
      case 1:
        if (!has(2) || !is(2, Kind::list)) return;
        out_ += 'a';
        return drop(1);
      case 2:
        if (!has(3) || !is(3, Kind::dict) || !is(2, Kind::plain)) return;
        out_ += 's';
        return drop(2);
      case 3:
        if (marked) close('t');
        return;
      case 4:
        if (marked) close('l');
        return;
      case 5:
        if (marked && n == 2 && is(2, Kind::plain)) close('d');
        return;
      case 6:
        if (!marked) return;
        if (is(n + 2, Kind::list))
          out_ += 'e';
        else if (is(n + 2, Kind::set))
          out_ += '\x90';
        else if (is(n + 2, Kind::dict) && n == 2 && is(2, Kind::plain))
          out_ += 'u';
        else
          return;
        return drop(n + 1);
      case 7:
        if (!has(2) || !is(2, Kind::dict) || !is(1, Kind::dict)) return;
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
  std::vector<Kind> memo_;  // mark: none
};

}  // namespace

std::string pickle_program(Choices& choices) { return Program(choices).make(); }

}  // namespace tenon
