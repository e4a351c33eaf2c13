// Sums of products in terms of permutations, products of matrices and sums.
#include "tenon/ops/einsum.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/text.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/matmul.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"

namespace tenon {

constinit OpInfo op::einsum::info{"einsum", kind};
constinit OpInfo op::tensordot::info{"tensordot", kind};

namespace {

constexpr int kLetters = 52;
constexpr int kEllipsis = kLetters;  // in a list of subscripts

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// Upper case first, as the characters have it.
int number_of(char c) { return c <= 'Z' ? c - 'A' : c - 'a' + 26; }
char letter_of(int number) {
  return static_cast<char>(number < 26 ? 'A' + number : 'a' + number - 26);
}

[[noreturn]] void fail(const std::string& what) { throw ValueError(concat("einsum(): ", what)); }

struct Equation {
  std::vector<std::vector<int>> operands;
  std::optional<std::vector<int>> output;
};

Equation parsed(std::string_view text, std::size_t operands) {
  Equation equation;
  const std::size_t arrow = text.find("->");
  const std::string_view left = text.substr(0, arrow);
  const auto subscripts = [&](std::string_view part, std::size_t at, const std::string& whose,
                              bool is_output) {
    std::vector<int> list;
    bool ellipsis = false;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const char c = part[i];
      if (c == ' ') continue;
      if (c == '.') {
        if (ellipsis) {
          fail(concat("found '.' for ", whose, " for which an ellipsis was already found"));
        }
        if (part.substr(i, 3) != "...") {
          fail(concat("found '.' for ", whose, " that is not part of any ellipsis",
                      is_output ? " (...)" : ""));
        }
        ellipsis = true;
        list.push_back(kEllipsis);
        i += 2;
        continue;
      }
      if (!is_letter(c)) {
        fail(concat("invalid subscript given at index ", at + i,
                    " in the equation string, subscripts must be in [a-zA-Z]"));
      }
      list.push_back(number_of(c));
    }
    return list;
  };
  std::size_t begin = 0;
  for (;;) {
    const std::size_t comma = left.find(',', begin);
    const std::size_t end = comma == std::string_view::npos ? left.size() : comma;
    const std::size_t number = equation.operands.size();
    if (number >= operands) fail("fewer operands were provided than specified in the equation");
    equation.operands.push_back(
        subscripts(left.substr(begin, end - begin), begin, concat("operand ", number), false));
    if (comma == std::string_view::npos) break;
    begin = comma + 1;
  }
  if (equation.operands.size() < operands)
    fail("more operands were provided than specified in the equation");
  if (arrow != std::string_view::npos) {
    const std::string_view right = text.substr(arrow + 2);
    equation.output = subscripts(right, arrow + 2, "output", true);
  }
  return equation;
}

// How many dimensions "..." stands for, in the operand that has most of them.
std::int64_t ellipsis_size(const Equation& equation, std::span<const Tensor> operands) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::vector<int>& labels = equation.operands[i];
    const bool ellipsis = std::find(labels.begin(), labels.end(), kEllipsis) != labels.end();
    const auto letters = static_cast<std::int64_t>(labels.size()) - (ellipsis ? 1 : 0);
    const std::int64_t rank = operands[i].dim();
    if (ellipsis && letters > rank) {
      throw ShapeError(concat("einsum(): the number of subscripts in the equation (", letters,
                              ") is more than the number of dimensions (", rank, ") for operand ",
                              i, " of shape ", bracketed(operands[i].shape())));
    }
    if (!ellipsis && letters != rank) {
      throw ShapeError(concat("einsum(): the number of subscripts in the equation (", letters,
                              ") does not match the number of dimensions (", rank, ") for operand ",
                              i, " of shape ", bracketed(operands[i].shape()),
                              " and no ellipsis was given"));
    }
    if (ellipsis) most = std::max(most, rank - letters);
  }
  return most;
}

// Where each letter, and the first dimension of "...", is in the common order: those of the result
// first.
struct Order {
  std::array<std::int64_t, kLetters> place;  // -1: nowhere
  std::int64_t ellipsis = 0;
  std::int64_t ellipsis_size = 0;
  std::int64_t results = 0, all = 0;
};

Order order_of(const Equation& equation, std::int64_t ellipsis_size) {
  Order order;
  order.place.fill(-1);
  order.ellipsis_size = ellipsis_size;
  std::array<int, kLetters> times{};
  bool any_ellipsis = false;
  for (const std::vector<int>& labels : equation.operands) {
    for (const int label : labels) {
      if (label == kEllipsis) {
        any_ellipsis = true;
      } else {
        ++times[static_cast<std::size_t>(label)];
      }
    }
  }
  bool placed_ellipsis = false;
  if (equation.output) {
    for (const int label : *equation.output) {
      if (label == kEllipsis) {
        // An ellipsis of no operand stands for nothing.
        order.ellipsis = order.all;
        order.all += ellipsis_size;
        placed_ellipsis = true;
        continue;
      }
      const auto letter = static_cast<std::size_t>(label);
      if (order.place[letter] != -1) {
        fail(
            concat("output subscript ", letter_of(label), " appears more than once in the output"));
      }
      if (times[letter] == 0) {
        fail(concat("output subscript ", letter_of(label),
                    " does not appear in the equation for any input operand"));
      }
      order.place[letter] = order.all++;
    }
  } else {
    order.ellipsis = 0;
    order.all = ellipsis_size;
    placed_ellipsis = true;
    for (std::size_t letter = 0; letter < kLetters; ++letter) {
      if (times[letter] == 1) order.place[letter] = order.all++;
    }
  }
  order.results = order.all;
  if (any_ellipsis && !placed_ellipsis) {
    order.ellipsis = order.all;
    order.all += ellipsis_size;
  }
  for (std::size_t letter = 0; letter < kLetters; ++letter) {
    if (times[letter] > 0 && order.place[letter] == -1) order.place[letter] = order.all++;
  }
  return order;
}

// The operand with its dimensions in the common order, and 1 where it has none.
Tensor arranged(const Tensor& operand, const std::vector<int>& labels, const Order& order,
                std::size_t number, std::vector<std::int64_t>& sizes) {
  Tensor t = operand;
  std::vector<std::int64_t> places;  // of t's dimensions
  const auto letters = static_cast<std::int64_t>(labels.size()) -
                       std::count(labels.begin(), labels.end(), kEllipsis);
  std::int64_t d = 0;
  for (const int label : labels) {
    if (label == kEllipsis) {
      const std::int64_t count = operand.dim() - letters;
      for (std::int64_t i = 0; i < count; ++i, ++d)
        places.push_back(order.ellipsis + order.ellipsis_size - count + i);
      continue;
    }
    const std::int64_t place = order.place[static_cast<std::size_t>(label)];
    const auto before = std::find(places.begin(), places.end(), place);
    if (before == places.end()) {
      places.push_back(place);
      ++d;
      continue;
    }
    // The diagonal, which takes the place of the first of the two.
    const std::int64_t other = before - places.begin();
    if (t.size(d) != t.size(other)) {
      throw ShapeError(concat("einsum(): subscript ", letter_of(label), " is repeated for operand ",
                              number, " but the sizes don't match, ", t.size(d), " != ",
                              t.size(other), " (its shape is ", bracketed(operand.shape()), ")"));
    }
    t = t.diagonal(0, other, d).movedim(-1, other);
  }
  std::vector<std::int64_t> source(static_cast<std::size_t>(order.all), -1);
  for (std::size_t i = 0; i < places.size(); ++i)
    source[static_cast<std::size_t>(places[i])] = static_cast<std::int64_t>(i);
  auto next = static_cast<std::int64_t>(places.size());
  Dims permutation;
  for (const std::int64_t from : source) permutation.push_back(from == -1 ? next++ : from);
  for (auto rank = t.dim(); rank < order.all; ++rank) t = t.unsqueeze(-1);
  t = t.permute(permutation);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t size = t.shape()[i];
    if (size == 1) continue;
    if (sizes[i] != 1 && sizes[i] != size) {
      std::string which = "dimension of the ellipsis";
      for (int letter = 0; letter < kLetters; ++letter) {
        if (order.place[static_cast<std::size_t>(letter)] == static_cast<std::int64_t>(i))
          which = concat("subscript ", letter_of(letter));
      }
      throw ShapeError(concat("einsum(): ", which, " has size ", size, " for operand ", number,
                              " of shape ", bracketed(operand.shape()),
                              " which does not broadcast with previously seen size ", sizes[i]));
    }
    sizes[i] = size;
  }
  return t;
}

// Whether all dimensions that only b keeps come before those that only a keeps. Then the product of
// b and a has them in that order, and that of a and b does not.
bool is_other_way_round(const Tensor& a, const Tensor& b, const std::vector<bool>& summed) {
  bool of_a = false, of_b = false;
  for (std::size_t d = 0; d < summed.size(); ++d) {
    const bool in_a = a.shape()[d] != 1, in_b = b.shape()[d] != 1;
    if (summed[d] || in_a == in_b) continue;
    if (in_b && of_a) return false;
    (in_a ? of_a : of_b) = true;
  }
  return of_a && of_b;
}

// The sum over some dimensions, which both have, of products: those that both keep are a batch,
// and the rest are rows of one matrix and columns of the other. Summed ones stay with size 1.
Tensor summed_product(const Tensor& a, const Tensor& b, const std::vector<bool>& summed) {
  Dims batch, rows, columns, sums;
  const std::size_t n = summed.size();
  std::int64_t batch_size = 1, row_size = 1, column_size = 1, sum_size = 1;
  for (std::size_t d = 0; d < n; ++d) {
    const std::int64_t in_a = a.shape()[d], in_b = b.shape()[d];
    const auto dim = static_cast<std::int64_t>(d);
    if (summed[d]) {
      sums.push_back(dim);
      sum_size *= in_a;
    } else if ((in_a == 1) == (in_b == 1)) {
      batch.push_back(dim);
      batch_size *= in_a;
    } else if (in_a != 1) {
      rows.push_back(dim);
      row_size *= in_a;
    } else {
      columns.push_back(dim);
      column_size *= in_b;
    }
  }
  const auto joined = [](std::initializer_list<const Dims*> parts) {
    Dims all;
    for (const Dims* part : parts) {
      for (const std::int64_t dim : *part) all.push_back(dim);
    }
    return all;
  };
  const Tensor left =
      a.permute(joined({&batch, &rows, &sums, &columns})).reshape({batch_size, row_size, sum_size});
  const Tensor right = b.permute(joined({&batch, &sums, &columns, &rows}))
                           .reshape({batch_size, sum_size, column_size});
  const Dims order = joined({&batch, &rows, &sums, &columns});
  Shape shape;
  Dims back = Dims::filled(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const auto d = static_cast<std::size_t>(order[i]);
    shape.push_back(summed[d] ? 1 : std::max(a.shape()[d], b.shape()[d]));
    // A size of 0 on one side and 1 on the other is 0.
    if (!summed[d] && (a.shape()[d] == 0 || b.shape()[d] == 0)) shape.back() = 0;
    back[d] = static_cast<std::int64_t>(i);
  }
  return bmm(left, right).view(shape).permute(back);
}

}  // namespace

template <>
struct Rule<op::einsum> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::lower_precision};
  static Tensor compose(std::string_view text, std::span<const Tensor> operands) {
    if (operands.empty()) fail("must specify the equation string and at least one operand");
    const Equation equation = parsed(text, operands.size());
    const Order order = order_of(equation, ellipsis_size(equation, operands));
    const auto all = static_cast<std::size_t>(order.all),
               results = static_cast<std::size_t>(order.results);
    std::vector<std::int64_t> sizes(all, 1);
    std::vector<Tensor> terms;
    for (std::size_t i = 0; i < operands.size(); ++i)
      terms.push_back(arranged(operands[i], equation.operands[i], order, i, sizes));

    // A dimension is summed with the last operand that has it.
    std::vector<std::size_t> last(all, 0);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      for (std::size_t d = 0; d < all; ++d) {
        if (terms[i].shape()[d] != 1) last[d] = i;
      }
    }
    Tensor product = terms[0];
    product = summed_alone(product, 0, last, results);
    for (std::size_t i = 1; i < terms.size(); ++i) {
      Tensor term = terms[i];
      std::vector<bool> summed(all, false);
      Dims alone;
      bool any = false;
      for (std::size_t d = results; d < all; ++d) {
        if (last[d] != i || term.shape()[d] == 1) continue;
        if (product.shape()[d] == 1) {
          alone.push_back(static_cast<std::int64_t>(d));
        } else {
          summed[d] = any = true;
        }
      }
      if (!alone.empty()) term = term.sum(alone, {.keepdim = true});
      // PyTorch's results are contiguous in this case, for two operands.
      const bool swapped = terms.size() == 2 && is_other_way_round(product, term, summed);
      if (!any) {
        product = product * term;
      } else {
        product =
            swapped ? summed_product(term, product, summed) : summed_product(product, term, summed);
      }
    }
    while (product.dim() > order.results) product = product.squeeze(-1);
    return product;
  }

 private:
  // Sums over what no later operand has.
  static Tensor summed_alone(const Tensor& term, std::size_t number,
                             const std::vector<std::size_t>& last, std::size_t results) {
    Dims alone;
    for (std::size_t d = results; d < last.size(); ++d) {
      if (last[d] == number && term.shape()[d] != 1) alone.push_back(static_cast<std::int64_t>(d));
    }
    return alone.empty() ? term : term.sum(alone, {.keepdim = true});
  }
};

template <>
struct Rule<op::tensordot> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::promote};
  static Tensor compose(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b) {
    if (dims_a.size() != dims_b.size()) {
      throw ValueError(concat("tensordot: both dimension lists should have same length, got ",
                              dims_a, " and ", dims_b));
    }
    const Dims from_a = wrap_dims(dims_a, a.dim()), from_b = wrap_dims(dims_b, b.dim());
    std::int64_t sums = 1;
    for (std::size_t i = 0; i < from_a.size(); ++i) {
      const std::int64_t in_a = a.size(from_a[i]), in_b = b.size(from_b[i]);
      if (in_a != in_b) {
        throw ShapeError(
            concat("tensordot: contracted dimensions need to match, but first has size ", in_a,
                   " in dim ", from_a[i], " of ", bracketed(a.shape()), " and second has size ",
                   in_b, " in dim ", from_b[i], " of ", bracketed(b.shape())));
      }
      sums *= in_a;
    }
    Shape shape;
    Dims order_a, order_b = from_b;
    std::int64_t rows = 1, columns = 1;
    for (std::int64_t d = 0; d < a.dim(); ++d) {
      if (std::find(from_a.begin(), from_a.end(), d) != from_a.end()) continue;
      order_a.push_back(d);
      shape.push_back(a.size(d));
      rows *= a.size(d);
    }
    for (const std::int64_t d : from_a) order_a.push_back(d);
    for (std::int64_t d = 0; d < b.dim(); ++d) {
      if (std::find(from_b.begin(), from_b.end(), d) != from_b.end()) continue;
      order_b.push_back(d);
      shape.push_back(b.size(d));
      columns *= b.size(d);
    }
    return mm(a.permute(order_a).reshape({rows, sums}), b.permute(order_b).reshape({sums, columns}))
        .view(shape);
  }
};

Tensor einsum(std::string_view equation, TensorList operands) {
  return call<op::einsum>(equation, operands);
}
Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t dims) {
  if (dims < 0) throw ValueError(concat("tensordot expects dims >= 0, but got dims=", dims));
  if (dims > std::min(a.dim(), b.dim())) {
    throw ShapeError(concat("tensordot: dims=", dims, " is more than the dimensions of ",
                            bracketed(a.shape()), " or ", bracketed(b.shape())));
  }
  Dims last, first;
  for (std::int64_t i = 0; i < dims; ++i) {
    last.push_back(a.dim() - dims + i);
    first.push_back(i);
  }
  return tensordot(a, b, last, first);
}
Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b) {
  return call<op::tensordot>(a, b, dims_a, dims_b);
}
Tensor chain_matmul(TensorList matrices) {
  if (matrices.empty()) throw ValueError("chain_matmul(): Expected one or more matrices");
  Tensor product = matrices[0];
  for (std::size_t i = 1; i < matrices.size(); ++i) product = mm(product, matrices[i]);
  return product;
}

}  // namespace tenon
