#include "parity/operators.h"

#include <functional>
#include <map>
#include <sstream>

#include "ops/views/hidden_views.h"

namespace tenon::parity {

namespace {

std::int64_t integer(const std::string& word) { return std::stoll(word); }
std::size_t place(const std::string& word) { return std::stoul(word); }

MemoryFormat format(const std::string& word) {
  if (word == "preserve") return MemoryFormat::preserve;
  if (word == "channels_last") return MemoryFormat::channels_last;
  if (word == "channels_last_3d") return MemoryFormat::channels_last_3d;
  return MemoryFormat::contiguous;
}

std::vector<std::string> parts(const std::string& word) {
  std::vector<std::string> out;
  std::istringstream in(word);
  for (std::string part; std::getline(in, part, ':');) out.push_back(part);
  if (word.ends_with(':')) out.emplace_back();
  return out;
}

std::vector<TensorIndex> indices(const Line& op) {
  std::vector<TensorIndex> out;
  for (std::size_t i = 2; i < op.size(); ++i) {
    const auto word = parts(op[i]);
    if (op[i] == "()") continue;
    if (word[0] == "n") out.emplace_back(None);
    if (word[0] == "e") out.emplace_back(Ellipsis);
    if (word[0] == "i") out.emplace_back(integer(word[1]));
    if (word[0] == "b") out.emplace_back(word[1] == "1");
    if (word[0] == "s")
      out.emplace_back(Slice(maybe_integer(word[1]), maybe_integer(word[2]), integer(word[3])));
    if (word[0] == "t") out.emplace_back(tensor(integers(word[2])).view(integers(word[1])));
    if (word[0] == "m") {
      std::vector<bool> mask;
      for (const char c : word[2]) {
        if (c != '-') mask.push_back(c == '1');
      }
      out.emplace_back(tensor(mask).view(integers(word[1])));
    }
  }
  return out;
}

Tensor put(const Tensor& self, const Line& op, const Tensor& value) {
  // index_put_ takes a braced list; here the length is only known at run time.
  const auto at = indices(op);
  switch (at.size()) {
    case 0: self.index_put_({}, value); break;
    case 1: self.index_put_({at[0]}, value); break;
    case 2: self.index_put_({at[0], at[1]}, value); break;
    case 3: self.index_put_({at[0], at[1], at[2]}, value); break;
    default: self.index_put_({at[0], at[1], at[2], at[3]}, value); break;
  }
  return self;
}

using Operator = std::function<Tensor(const Line& a, const std::vector<Tensor>& t)>;

const std::map<std::string, Operator>& operators() {
  static const std::map<std::string, Operator> table{
      {"view", [](const Line& a, const auto& t) { return t[0].view(Shape(integers(a[2]))); }},
      {"reshape", [](const Line& a, const auto& t) { return t[0].reshape(integers(a[2])); }},
      {"dtype", [](const Line& a, const auto& t) { return t[0].view(dtype(a[2])); }},
      {"slice",
       [](const Line& a, const auto& t) {
         return t[0].slice(integer(a[2]), maybe_integer(a[3]), maybe_integer(a[4]), integer(a[5]));
       }},
      {"narrow",
       [](const Line& a, const auto& t) {
         return t[0].narrow(integer(a[2]), integer(a[3]), integer(a[4]));
       }},
      {"select",
       [](const Line& a, const auto& t) { return t[0].select(integer(a[2]), integer(a[3])); }},
      {"transpose",
       [](const Line& a, const auto& t) { return t[0].transpose(integer(a[2]), integer(a[3])); }},
      {"permute", [](const Line& a, const auto& t) { return t[0].permute(integers(a[2])); }},
      {"t", [](const Line&, const auto& t) { return t[0].t(); }},
      {"mT", [](const Line&, const auto& t) { return t[0].mT(); }},
      {"detach", [](const Line&, const auto& t) { return t[0].detach(); }},
      {"conj", [](const Line&, const auto& t) { return t[0].conj(); }},
      {"neg", [](const Line&, const auto& t) { return neg_view(t[0]); }},
      {"real", [](const Line&, const auto& t) { return t[0].real(); }},
      {"imag", [](const Line&, const auto& t) { return t[0].imag(); }},
      {"view_as_real", [](const Line&, const auto& t) { return view_as_real(t[0]); }},
      {"view_as_complex", [](const Line&, const auto& t) { return view_as_complex(t[0]); }},
      {"expand", [](const Line& a, const auto& t) { return t[0].expand(integers(a[2])); }},
      {"squeeze",
       [](const Line& a, const auto& t) {
         return a.size() > 2 ? t[0].squeeze(integers(a[2])) : t[0].squeeze();
       }},
      {"unsqueeze", [](const Line& a, const auto& t) { return t[0].unsqueeze(integer(a[2])); }},
      {"flatten",
       [](const Line& a, const auto& t) { return t[0].flatten(integer(a[2]), integer(a[3])); }},
      {"unflatten",
       [](const Line& a, const auto& t) { return t[0].unflatten(integer(a[2]), integers(a[3])); }},
      {"as_strided",
       [](const Line& a, const auto& t) {
         return t[0].as_strided(integers(a[2]), integers(a[3]), maybe_integer(a[4]));
       }},
      {"diagonal",
       [](const Line& a, const auto& t) {
         return t[0].diagonal(integer(a[2]), integer(a[3]), integer(a[4]));
       }},
      {"unfold",
       [](const Line& a, const auto& t) {
         return t[0].unfold(integer(a[2]), integer(a[3]), integer(a[4]));
       }},
      {"split",
       [](const Line& a, const auto& t) {
         return t[0].split(integer(a[2]), integer(a[3])).at(place(a[4]));
       }},
      {"splits",
       [](const Line& a, const auto& t) {
         return t[0].split(Dims(integers(a[2])), integer(a[3])).at(place(a[4]));
       }},
      {"chunk",
       [](const Line& a, const auto& t) {
         return t[0].chunk(integer(a[2]), integer(a[3])).at(place(a[4]));
       }},
      {"unbind",
       [](const Line& a, const auto& t) { return t[0].unbind(integer(a[2])).at(place(a[3])); }},
      {"movedim",
       [](const Line& a, const auto& t) { return t[0].movedim(integers(a[2]), integers(a[3])); }},
      {"clone", [](const Line& a, const auto& t) { return t[0].clone(format(a[2])); }},
      {"contiguous", [](const Line& a, const auto& t) { return t[0].contiguous(format(a[2])); }},
      {"empty_like",
       [](const Line& a, const auto& t) {
         return zeros_like(t[0], {.memory_format = format(a[2])});
       }},
      {"to", [](const Line& a, const auto& t) { return t[0].to(dtype(a[2])); }},
      {"copy_", [](const Line&, const auto& t) { return t[0].copy_(t[1]); }},
      {"fill_",
       [](const Line& a, const auto& t) {
         return t[0].fill_(a[2] == "true" ? Scalar(true) : number(a[2]));
       }},
      {"cat", [](const Line& a, const auto& t) { return cat(t, integer(a[2])); }},
      {"stack", [](const Line& a, const auto& t) { return stack(t, integer(a[2])); }},
      {"index", [](const Line& a, const auto& t) { return t[0].index(indices(a)); }},
      {"index_put_", [](const Line& a, const auto& t) { return put(t[0], a, t[1]); }},
  };
  return table;
}

}  // namespace

Tensor run_operator(const Line& op, const std::vector<Tensor>& tensors) {
  const auto found = operators().find(op[1]);
  if (found == operators().end())
    throw InternalError("no operator '" + op[1] + "' in tests/parity/operators.cpp");
  return found->second(op, tensors);
}

}  // namespace tenon::parity
