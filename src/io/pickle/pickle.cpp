#include "io/pickle/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/huge_pages.h"
#include "base/text.h"
#include "core/value_depth.h"
#include "io/pickle/pickle_limits.h"
#include "io/pickle/pickle_memo.h"
#include "io/pickle/pickle_ops.h"
#include "io/pickle/pickle_stack.h"
#include "io/read/byte_reader.h"
#include "io/support/utf8.h"

namespace tenon {

namespace {

using Kind = PickleItem::Kind;
using NodeKind = PickleNode::Kind;

constexpr std::size_t kMostReserved = std::size_t{64} << 20;
constexpr std::size_t kMostMarks = 10'000;
constexpr std::size_t kLongestText = std::size_t{256} << 20;

}  // namespace

using namespace pickle_op;

class PickleMachine {
 public:
  PickleMachine(Pickle& out, Pickle::Meaning meaning, Pickle::Names allowed, ReadMeter& meter)
      : out_(out),
        meaning_(meaning),
        allowed_(allowed),
        meter_(meter),
        reader_(out.bytes_, out.base_, out.file_),
        stack_(meter),
        memo_(meter, std::min(out.bytes_.size(), kMostReserved) / 12 + 64) {
    // About what a pickle of tensors needs; what is not used of it costs nothing.
    const std::size_t bytes = std::min(out.bytes_.size(), kMostReserved);
    reserve_in_huge_pages(out.nodes_, bytes / 14 + 64);
    reserve_in_huge_pages(out.pool_, bytes / 8 + 128);
    meter_.memory(size_of(out.nodes_) + size_of(out.pool_));
  }

  void run() {
    meter_.work(out_.bytes_.size());
    for (;;) {
      op_at_ = reader_.offset();
      if (step(reader_.u8())) break;
    }
    out_.size_ = reader_.position();
    trim(out_.nodes_);
    trim(out_.pool_);
    std::sort(out_.shared_texts_.begin(), out_.shared_texts_.end());
  }

 private:
  template <class T>
  static std::uint64_t size_of(const std::vector<T>& vector) noexcept {
    return vector.capacity() * sizeof(T);
  }
  // Room that was never touched takes no memory, but much of it would be in the way of others.
  template <class T>
  void trim(std::vector<T>& vector) {
    meter_.release((vector.capacity() - vector.size()) * sizeof(T));
    if (vector.capacity() / 2 > vector.size()) vector.shrink_to_fit();
  }
  [[noreturn, gnu::cold, gnu::noinline]] void fail(std::string_view reason) const {
    reader_.fail_at(op_at_, concat("pickle: ", reason));
  }

  // True at the end of the program.
  bool step(std::uint8_t op) {
    switch (op) {
      case kProto: return protocol();
      case kFrame: return frame();
      case kMark:
        if (marks_.size() == kMostMarks) fail("more than 10000 marks are open");
        marks_.push_back(floor_);
        floor_ = stack_.size();
        return false;
      case kStop: return stop();
      case kPop: return pop_one();
      case kPopMark: return pop_to_mark();
      case kDup: need(1); return again(stack_.back());
      case kNone: return push({Kind::none, false, 0, {}});
      case kNewTrue: return push_integer(Kind::boolean, 1);
      case kNewFalse: return push_integer(Kind::boolean, 0);
      case kBinInt: return push_integer(Kind::integer, std::bit_cast<std::int32_t>(reader_.u32()));
      case kBinInt1: return push_integer(Kind::integer, reader_.u8());
      case kBinInt2: return push_integer(Kind::integer, reader_.u16());
      case kLong1: return push_long(reader_.u8());
      case kLong4: return push_long(reader_.u32());
      case kBinFloat: return push_real();
      case kShortBinString: return push_stretch(Kind::text, reader_.u8());
      case kBinString: return push_stretch(Kind::text, reader_.u32());
      case kShortBinUnicode: return push_stretch(Kind::text, reader_.u8());
      case kBinUnicode: return push_stretch(Kind::text, reader_.u32());
      case kBinUnicode8: return push_stretch(Kind::text, reader_.u64());
      case kShortBinBytes: return push_stretch(Kind::bytes, reader_.u8());
      case kBinBytes: return push_stretch(Kind::bytes, reader_.u32());
      case kBinBytes8: return push_stretch(Kind::bytes, reader_.u64());
      case kByteArray8: return byte_array();
      case kEmptyTuple: return push_tuple(0);
      case kTuple1: return push_tuple(1);
      case kTuple2: return push_tuple(2);
      case kTuple3: return push_tuple(3);
      case kTuple: return push_tuple(above_mark());
      case kEmptyList: return push_node(NodeKind::list);
      case kEmptyDict: return push_node(NodeKind::dict);
      case kEmptySet: return push_node(NodeKind::set);
      case kList: return gather(NodeKind::list);
      case kDict: return gather(NodeKind::dict);
      case kFrozenSet: return gather(NodeKind::frozen_set);
      case kAppend: return extend(NodeKind::list, 1);
      case kAppends: return extend(NodeKind::list, above_mark());
      case kSetItem: return extend(NodeKind::dict, 2);
      case kSetItems: return extend(NodeKind::dict, above_mark());
      case kAddItems: return extend(NodeKind::set, above_mark());
      case kBinGet: return get(reader_.u8());
      case kLongBinGet: return get(reader_.u32());
      case kBinPut: return put(reader_.u8());
      case kLongBinPut: return put(reader_.u32());
      case kMemoize: return put(memo_.count());
      case kGlobal: return global();
      case kStackGlobal: return stack_global();
      case kReduce: return call(NodeKind::call);
      case kNewObj: return call(NodeKind::object);
      case kBuild: return build();
      case kBinPersId: return persistent();
      default: unknown(op);
    }
  }

  [[noreturn, gnu::cold, gnu::noinline]] void unknown(std::uint8_t op) const {
    fail(concat("operation ", int{op}, " is not one a checkpoint needs"));
  }
  bool protocol() {
    const std::uint8_t version = reader_.u8();
    if (version < 2 || version > 5)
      fail(concat("protocol ", int{version}, ", and 2 to 5 are known"));
    return false;
  }
  bool frame() {
    const std::uint64_t length = reader_.u64();
    if (length > reader_.left())
      fail(concat("a frame of ", length, " bytes, and ", reader_.left(), " are left"));
    return false;
  }

  // The values an operation may take: those above the last mark.
  void need(std::size_t n) const {
    if (stack_.size() - floor_ < n) fail("an operation without the values it needs");
  }
  const PickleItem& top() const {
    need(1);
    return stack_.back();
  }
  bool push(PickleItem item) {
    if (!stack_.push(item)) fail("more than 8 million values wait for an operation");
    return false;
  }
  // Of a value that is new: pickles put nearly every one of them into the memo, under the next
  // number. As an operation of its own, that is a quarter of all, each waiting for what was just
  // written to the stack.
  [[gnu::always_inline]] bool push_new(PickleItem item) {
    push(item);
    const auto next = reader_.ahead();
    std::size_t index = 0;
    if (next.size() >= 5 && next[0] == std::byte{kLongBinPut}) {
      std::uint32_t number = 0;
      std::memcpy(&number, &next[1], sizeof number);
      index = number;
    } else if (next.size() >= 2 && next[0] == std::byte{kBinPut}) {
      index = static_cast<std::size_t>(next[1]);
    } else {
      return false;
    }
    if (index != memo_.next() || index > kHighestMemo) return false;
    reader_.bytes(next[0] == std::byte{kBinPut} ? 2 : 5);
    memo_.remember(item);
    return false;
  }
  bool push_integer(Kind kind, std::int64_t value) {
    PickleItem item{kind, false, 0, {}};
    item.integer = value;
    return push(item);
  }
  bool push_real() {
    PickleItem item{Kind::real, false, 0, {}};
    const std::uint64_t big_endian = reader_.u64();
    item.real = std::bit_cast<double>(__builtin_bswap64(big_endian));
    return push(item);
  }
  PickleItem stretch(Kind kind, std::uint64_t length) {
    const std::size_t at = reader_.position();
    const std::string_view text = reader_.text(length);
    if (length > kLongestText) fail("text of more than 256 MiB");
    if (kind == Kind::text && !is_utf8(text)) fail("text that is not UTF-8");
    PickleItem item{kind, false, static_cast<std::uint32_t>(length), {}};
    item.place = at;
    return item;
  }
  bool push_stretch(Kind kind, std::uint64_t length) { return push_new(stretch(kind, length)); }
  bool byte_array() {
    const PickleItem bytes = stretch(Kind::bytes, reader_.u64());
    add_node(NodeKind::byte_array).a = bytes;
    return false;
  }
  bool push_long(std::uint64_t length) {
    if (length > kLongestInteger && length <= reader_.left())
      fail("an integer of more than 1024 bytes");
    const std::size_t at = reader_.position();
    const auto bytes = reader_.bytes(length);
    if (length > 8) {
      PickleItem item{Kind::big_integer, false, static_cast<std::uint32_t>(length), {}};
      item.place = at;
      return push(item);
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    if (length > 0 && length < 8 && (static_cast<std::uint8_t>(bytes.back()) & 0x80) != 0)
      value |= ~std::uint64_t{0} << (8 * length);
    return push_integer(Kind::integer, std::bit_cast<std::int64_t>(value));
  }

  bool push_node(NodeKind kind) {
    add_node(kind);
    return false;
  }
  // A new node, whose item is on the stack.
  PickleNode& add_node(NodeKind kind) {
    if (out_.nodes_.size() == kMostNodes) fail("more than 8 million objects");
    PickleItem item{Kind::node, false, 0, {}};
    item.place = out_.nodes_.size();
    charge_growth(meter_, out_.nodes_);
    PickleNode& node = out_.nodes_.emplace_back(kind);
    node.offset = op_at_;
    push_new(item);
    return node;
  }
  void close_mark() {
    floor_ = marks_.back();
    marks_.pop_back();
  }
  // How many values are above the last mark, which is taken away.
  std::size_t above_mark() {
    if (marks_.empty()) fail("an operation without its mark");
    const std::size_t n = stack_.size() - floor_;
    close_mark();
    return n;
  }
  // Takes the last n values from the stack to where they stay; says where.
  std::size_t to_pool(std::size_t n) {
    const std::size_t place = out_.pool_.size();
    const auto last = stack_.last(n);
    charge_growth(meter_, out_.pool_, n);
    out_.pool_.insert(out_.pool_.end(), last.begin(), last.end());
    stack_.drop(n);
    return place;
  }
  bool push_tuple(std::size_t n) {
    need(n);
    const std::uint16_t depth = depth_over(n);
    const std::size_t place = to_pool(n);
    PickleNode& node = add_node(NodeKind::tuple);
    node.count = static_cast<std::uint32_t>(n);
    node.a.place = place;
    node.depth = depth;
    return false;
  }
  [[noreturn, gnu::cold, gnu::noinline]] void too_deep() const {
    fail(concat("objects in more than ", kMaxDepth, " levels"));
  }
  // One level more than the deepest of the last n values, which become parts of something.
  //
  // Python calls a function when the program says so, here calls are made when all of it has run.
  // So nothing is added any more to what is a part of something: a call may take that. Picklers
  // fill what they make before they put it anywhere, but for what contains itself.
  std::uint16_t depth_over(std::size_t n) {
    std::uint16_t deepest = 0;
    for (const PickleItem& item : stack_.last(n)) {
      if (item.kind != Kind::node) continue;
      PickleNode& node = out_.nodes_[static_cast<std::size_t>(item.place)];
      node.settled = true;
      deepest = std::max(deepest, node.depth);
    }
    if (deepest >= kMaxDepth) too_deep();
    return static_cast<std::uint16_t>(deepest + 1);
  }
  bool pop_one() {
    // A mark that is open is popped like a value.
    if (!marks_.empty() && floor_ == stack_.size()) {
      close_mark();
      return false;
    }
    need(1);
    stack_.drop(1);
    return false;
  }
  bool pop_to_mark() {
    const std::size_t n = above_mark();
    stack_.drop(n);
    return false;
  }

  Pickle::Extra& extra_of(PickleNode& node) {
    if (node.extra == PickleNode::kNone) {
      if (out_.extras_.size() == kMostContainers) fail("more than 4 million lists and dicts");
      node.extra = static_cast<std::uint32_t>(out_.extras_.size());
      charge_growth(meter_, out_.extras_);
      out_.extras_.emplace_back();
    }
    return out_.extras_[node.extra];
  }
  bool gather(NodeKind kind) {
    const std::size_t n = above_mark();
    if (kind == NodeKind::dict && n % 2 != 0) fail("a key without its value");
    const std::uint16_t depth = depth_over(n);
    const std::size_t place = to_pool(n);
    PickleNode& node = add_node(kind);
    node.depth = depth;
    if (n != 0) {
      Pickle::Extra& extra = extra_of(node);
      extra.place = place;
      extra.count = n;
    }
    return false;
  }
  // More values for something that has some.
  void append(Pickle::Extra& extra, std::size_t n) {
    if (extra.count != 0) {
      const auto first = std::span(out_.pool_).subspan(extra.place, extra.count);
      meter_.memory(first.size_bytes());
      extra.items.assign(first.begin(), first.end());
      extra.count = 0;
    }
    const auto last = stack_.last(n);
    charge_growth(meter_, extra.items, n);
    extra.items.insert(extra.items.end(), last.begin(), last.end());
    stack_.drop(n);
  }
  bool extend(NodeKind kind, std::size_t n) {
    need(n + 1);
    if (kind == NodeKind::dict && n % 2 != 0) fail("a key without its value");
    const PickleItem& target = stack_.from_top(n + 1);
    if (target.kind != Kind::node) fail("items for something that holds none");
    PickleNode& node = out_.nodes_[static_cast<std::size_t>(target.place)];
    // What was made by a call may be a list or a dict too; whoever knows the names decides.
    const bool made = node.kind == NodeKind::call || node.kind == NodeKind::object;
    if (node.kind != kind && !(made && kind != NodeKind::set))
      fail("items for something that does not hold such");
    if (n != 0) {
      if (node.settled) fail("items for something that is a part of something else already");
      Pickle::Extra& extra = extra_of(node);
      if (made && !out_.items(node).empty() && (node.count == 1) != (kind == NodeKind::list))
        fail("an object that is a list and a dict");
      node.depth = std::max(node.depth, depth_over(n));
      if (made) node.count = kind == NodeKind::list ? 1 : 2;
      if (out_.items(node).empty()) {
        extra.place = to_pool(n);
        extra.count = n;
      } else {
        append(extra, n);
      }
    }
    return false;
  }

  bool put(std::uint32_t index) {
    const PickleItem item = top();
    if (index > kHighestMemo) fail(concat("memo number ", index, " is beyond 16 million"));
    // Nearly always the next one.
    if (index == memo_.next()) [[likely]]
      memo_.remember(item);
    else
      memo_.put(index, item);
    return false;
  }
  bool get(std::uint32_t index) {
    PickleItem* found = memo_.find(index);
    if (found == nullptr) fail(concat("memo number ", index, " was never set"));
    return again(*found);
  }
  // A value that is in more than one place from now on.
  bool again(PickleItem& item) {
    const bool has_bytes =
        item.kind == Kind::text || item.kind == Kind::bytes || item.kind == Kind::big_integer;
    if (!item.taken && has_bytes) {
      item.taken = true;
      charge_growth(meter_, out_.shared_texts_);
      out_.shared_texts_.push_back(item.place);
    }
    if (item.kind == Kind::node) {
      PickleNode& node = out_.nodes_[static_cast<std::size_t>(item.place)];
      if (node.shared == PickleNode::kNone) share(node);
    }
    return push(item);
  }
  // A tuple may be the arguments of several calls from now on, which take its parts one by one:
  // they are in several places, too.
  [[gnu::noinline]] void share(PickleNode& node) {
    node.shared = out_.shared_++;
    if (node.kind != NodeKind::tuple) return;
    for (const PickleItem& part : out_.items(node)) {
      if (part.kind != Kind::node) continue;
      PickleNode& inner = out_.nodes_[static_cast<std::size_t>(part.place)];
      if (inner.shared == PickleNode::kNone) inner.shared = out_.shared_++;
    }
  }

  bool global() {
    const std::size_t at = reader_.position();
    const std::string_view module = reader_.line();
    const std::size_t name_at = reader_.position();
    const std::string_view name = reader_.line();
    PickleItem first{Kind::text, false, static_cast<std::uint32_t>(module.size()), {}};
    PickleItem second{Kind::text, false, static_cast<std::uint32_t>(name.size()), {}};
    first.place = at;
    second.place = name_at;
    return push_global(first, second);
  }
  bool stack_global() {
    need(2);
    const PickleItem name = stack_.back(), module = stack_.from_top(2);
    if (name.kind != Kind::text || module.kind != Kind::text)
      fail("a global whose name is no text");
    stack_.drop(2);
    return push_global(module, name);
  }
  bool push_global(const PickleItem& module, const PickleItem& name) {
    const std::string_view first = out_.text(module), second = out_.text(name);
    if (first.size() > 1024 || second.size() > 1024)
      fail("a global with a name of more than 1024 bytes");
    meter_.work((first.size() + second.size()) / 4);
    if (!is_utf8(first) || !is_utf8(second)) fail("a global whose name is not UTF-8");
    const std::uint32_t meaning = meaning_ != nullptr ? meaning_(first, second) : 0;
    if (allowed_ == Pickle::Names::known && (meaning & 0xff) == 0) {
      fail(
          concat("it names ", first, ".", second,
                 ", which is no part of tensors and plain values: the file holds a pickled object. "
                 "Save its state_dict() instead, or read it inert"));
    }
    PickleNode& node = add_node(NodeKind::global);
    node.a = module;
    node.b = name;
    node.count = meaning;
    return false;
  }
  NodeKind kind_of(const PickleItem& item) const {
    return item.kind == Kind::node ? out_.node(item).kind : NodeKind::persistent;
  }
  bool call(NodeKind kind) {
    need(2);
    const PickleItem arguments = stack_.back(), function = stack_.from_top(2);
    if (function.kind != Kind::node || kind_of(function) != NodeKind::global)
      fail("a call of something that is no function");
    if (arguments.kind != Kind::node || kind_of(arguments) != NodeKind::tuple)
      fail("a call whose arguments are no tuple");
    const std::uint16_t depth = depth_over(2);
    stack_.drop(2);
    PickleNode& node = add_node(kind);
    node.a = function;
    node.b = arguments;
    node.depth = depth;
    return false;
  }
  bool build() {
    need(2);
    const PickleItem state = stack_.back(), target = stack_.from_top(2);
    const NodeKind kind = kind_of(target);
    if (target.kind != Kind::node || (kind != NodeKind::call && kind != NodeKind::object))
      fail("a state for something that is no object");
    PickleNode& node = out_.nodes_[static_cast<std::size_t>(target.place)];
    node.depth = std::max(node.depth, depth_over(1));
    stack_.drop(1);
    // Python merges states. No pickler gives two.
    if (out_.state(node).kind != Kind::nothing) fail("a second state for an object");
    extra_of(node).state = state;
    return false;
  }
  // A class that was saved with its source code: ("module", class, file, code) is the class.
  bool is_class_with_code(const PickleItem& item) const {
    if (kind_of(item) != NodeKind::tuple) return false;
    const auto parts = out_.items(out_.node(item));
    return parts.size() == 4 && parts[0].kind == Kind::text && out_.text(parts[0]) == "module" &&
           parts[1].kind == Kind::node && kind_of(parts[1]) == NodeKind::global;
  }
  bool persistent() {
    if (is_class_with_code(top())) {
      const PickleItem type = out_.items(out_.node(top()))[1];
      stack_.back() = type;
      return false;
    }
    const PickleItem id = top();
    const std::uint16_t depth = depth_over(1);
    stack_.drop(1);
    PickleNode& node = add_node(NodeKind::persistent);
    node.a = id;
    node.depth = depth;
    return false;
  }
  bool stop() {
    if (!marks_.empty() || stack_.size() != 1)
      fail("the program ends with more or less than one value");
    out_.root_ = stack_.back();
    return true;
  }

  Pickle& out_;
  Pickle::Meaning meaning_;
  Pickle::Names allowed_;
  ReadMeter& meter_;
  ByteReader reader_;
  std::uint64_t op_at_ = 0;
  ItemStack stack_;
  // Values below the last open mark, which no operation may take; and the same of the marks below.
  std::size_t floor_ = 0;
  std::vector<std::size_t> marks_;
  PickleMemo memo_;
};

Pickle::Pickle(std::span<const std::byte> bytes, std::uint64_t base, const std::string& file,
               Meaning meaning, Names allowed, ReadMeter& meter)
    : bytes_(bytes), base_(base), file_(file) {
  PickleMachine(*this, meaning, allowed, meter).run();
}

std::span<const PickleItem> Pickle::items(const PickleNode& node) const {
  if (node.kind == NodeKind::tuple)
    return std::span(pool_).subspan(static_cast<std::size_t>(node.a.place), node.count);
  if (node.extra == PickleNode::kNone) return {};
  const Extra& extra = extras_[node.extra];
  if (extra.count != 0) return std::span(pool_).subspan(extra.place, extra.count);
  return extra.items;
}

PickleItem Pickle::state(const PickleNode& node) const {
  return node.extra == PickleNode::kNone ? PickleItem() : extras_[node.extra].state;
}

std::string_view Pickle::text(const PickleItem& item) const {
  return {reinterpret_cast<const char*>(bytes_.data()) + item.place, item.length};
}

std::string Pickle::name_of(const PickleNode& global) const {
  return concat(text(global.a), ".", text(global.b));
}

void Pickle::fail(const PickleNode& at, const std::string& reason) const {
  throw FormatError(file_, at.offset, reason);
}

}  // namespace tenon
