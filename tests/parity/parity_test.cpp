// What PyTorch does, case by case. One test for each file of cases.
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "parity/cases.h"
#include "parity/operators.h"
#include "support/sha256.h"

namespace tenon::parity {
namespace {

// Runs f and says what went wrong, if something did: PyTorch's answer is an error or not, and so
// must ours be.
template <class F>
void run(const Case& one, F&& f) {
  SCOPED_TRACE(one.where);
  const bool refuses = one.has("error");
  try {
    f();
    EXPECT_FALSE(refuses) << "PyTorch refuses this";
  } catch (const InternalError& error) {
    FAIL() << error.what();
  } catch (const Error& error) {
    EXPECT_TRUE(refuses) << "PyTorch does this; we say: " << error.what();
    if (refuses && one.line("error")[1] == "IndexError") {
      EXPECT_NE(dynamic_cast<const IndexError*>(&error), nullptr) << error.what();
    }
  } catch (const std::out_of_range&) {
    EXPECT_TRUE(refuses)
        << "fewer pieces than PyTorch makes";  // of a split, that the case then picks from
  }
}

std::vector<Tensor> tensors_of(const Case& one, bool meta = false) {
  std::vector<Tensor> tensors;
  for (const Line& line : one.all("tensor")) tensors.push_back(make_tensor(line, meta));
  return tensors;
}

void expect_result(const Case& one, const Tensor& ours) {
  if (one.has("result")) {
    const Line& expected = one.line("result");
    EXPECT_EQ(layout_text(ours),
              expected[1] + " " + expected[2] + " " + expected[3] + " " + expected[4]);
    if (!ours.is_meta()) {
      EXPECT_EQ(element_hex(ours), expected[5]);
    }
  } else if (one.has("values")) {
    const Line& expected = one.line("values");
    EXPECT_EQ(ours.shape(), Shape(integers(expected[2])));
    EXPECT_EQ(ours.is_view(), expected[3] == "1");
    if (!ours.is_meta()) {
      EXPECT_EQ(element_hex(ours), expected[4]);
    }
  } else if (one.has("storage")) {
    if (!ours.is_meta()) {
      EXPECT_EQ(storage_hex(ours), one.line("storage")[1]);
    }
  } else {
    EXPECT_TRUE(one.has("error")) << "the case says nothing to compare with";
  }
}

TEST(Parity, ViewsHaveTheLayoutAndElementsOfPyTorch) {
  for (const Case& one : read_cases("views")) {
    for (const bool meta : {false, true}) {
      run(one, [&] {
        Tensor t = tensors_of(one, meta).front();
        for (const Line& op : one.all("op")) t = run_operator(op, {t});
        expect_result(one, t);
      });
    }
  }
}

TEST(Parity, CopiesHaveTheOrderInMemoryAndElementsOfPyTorch) {
  for (const Case& one : read_cases("copies")) {
    run(one, [&] {
      const auto tensors = tensors_of(one);
      if (one.line("op")[1] == "equal") {
        EXPECT_EQ(equal(tensors[0], tensors[1]), one.line("answer")[1] == "True");
      } else {
        expect_result(one, run_operator(one.line("op"), tensors));
      }
    });
    if (one.line("op")[1] == "equal") continue;
    // Whether elements of one tensor share a place is only looked at where there is memory.
    const bool only_with_memory = one.has("error") && one.line("op")[1] == "copy_";
    if (only_with_memory) continue;
    run(one, [&] { expect_result(one, run_operator(one.line("op"), tensors_of(one, true))); });
  }
}

TEST(Parity, IndexingPicksTheElementsOfPyTorch) {
  for (const Case& one : read_cases("indexing")) {
    run(one, [&] { expect_result(one, run_operator(one.line("op"), tensors_of(one))); });
  }
}

TEST(Parity, FactoriesGiveTheBitsOfPyTorch) {
  for (const Case& one : read_cases("factories")) {
    run(one, [&] {
      const Line& op = one.line("op");
      TensorOptions options;
      if (op.back() != "-") options.dtype = dtype(op.back());
      Tensor ours;
      if (op[1] == "arange") ours = arange(number(op[2]), number(op[3]), number(op[4]), options);
      if (op[1] == "linspace")
        ours = linspace(number(op[2]), number(op[3]), std::stoll(op[4]), options);
      if (op[1] == "eye") ours = eye(std::stoll(op[2]), std::stoll(op[3]), options);
      if (op[1] == "full") ours = full(integers(op[2]), number(op[3]), options);
      expect_result(one, ours);
    });
  }
}

TEST(Parity, NumbersBecomeElementsAsInPyTorch) {
  for (const Case& one : read_cases("scalars")) {
    run(one, [&] {
      const Line& op = one.line("op");
      const Scalar value = number(op[3]);
      const DType type = dtype(op[2]);
      const Tensor ours = op[1] == "fill" ? zeros({}, {.dtype = type}).fill_(value)
                                          : tensor({value}, {.dtype = type});
      EXPECT_EQ(element_hex(ours), one.line("bytes")[1]) << op[1] << " " << op[2] << " " << op[3];
    });
  }
}

TEST(Parity, DTypesPromoteAsInPyTorch) {
  for (const Case& one : read_cases("promotion")) {
    run(one, [&] {
      const Line& op = one.line("op");
      EXPECT_EQ(info(promote_types(dtype(op[2]), dtype(op[3]))).name, one.line("answer")[1]);
    });
  }
}

TEST(Parity, CastsGiveTheBitsOfPyTorch) {
  for (const Case& one : read_cases("casts")) {
    run(one, [&] {
      const Line& op = one.line("op");
      const auto both = one.all("bytes");
      std::vector<std::byte> in = bytes(both[0][1]);
      const auto count = static_cast<std::int64_t>(in.size()) / itemsize(dtype(op[2]));
      const Tensor source = from_blob(in.data(), {count}, {.dtype = dtype(op[2])});
      EXPECT_EQ(element_hex(source.to(dtype(op[3]))), both[1][1]) << op[2] << " to " << op[3];
    });
  }
}

// Every cast there is in PyTorch 2.14: all elements of the 8- and 16-bit dtypes, chosen ones of the
// others.
TEST(Parity, EveryCastGivesTheBitsOfPyTorch) {
  int tables = 0;
  for (const Case& one : read_cases("casts_2_14")) {
    run(one, [&] {
      const Line& op = one.line("op");
      const DType from = dtype(op[2]), to = dtype(op[3]);
      std::vector<std::byte> in;
      if (op[1] == "all") {
        const std::int64_t patterns = from == bool_ ? 2 : itemsize(from) == 1 ? 256 : 65536;
        in.resize(static_cast<std::size_t>(patterns * itemsize(from)));
        for (std::int64_t i = 0; i < patterns; ++i)
          std::memcpy(&in[static_cast<std::size_t>(i * itemsize(from))], &i,
                      static_cast<std::size_t>(itemsize(from)));
      } else {
        in = bytes(one.line("bytes")[1]);
      }
      const auto count = static_cast<std::int64_t>(in.size()) / itemsize(from);
      const std::string ours = element_hex(from_blob(in.data(), {count}, {.dtype = from}).to(to));
      if (op[1] == "all") {
        EXPECT_EQ(sha256(bytes(ours)), one.line("sha256")[1]) << op[2] << " to " << op[3];
      } else {
        EXPECT_EQ(ours, one.all("bytes")[1][1]) << op[2] << " to " << op[3];
      }
    });
    ++tables;
  }
  EXPECT_EQ(tables, 233 + 118);
}

void expect_printed(const std::string& kind) {
  for (const Case& one : read_cases(kind)) {
    SCOPED_TRACE(one.where);
    PrintOptionsChange options;
    std::optional<DTypeScope> scope;
    for (const std::string& word : one.line("options")) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) continue;
      const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
      if (key == "precision") options.precision = std::stoll(value);
      if (key == "threshold") options.threshold = std::stoll(value);
      if (key == "edgeitems") options.edgeitems = std::stoll(value);
      if (key == "linewidth") options.linewidth = std::stoll(value);
      if (key == "sci_mode" && value != "None") options.sci_mode = value == "True";
      if (key == "default") scope.emplace(dtype(value));
    }
    set_printoptions(options);
    EXPECT_EQ(make_tensor(one.line("tensor")).repr(), one.line("text")[1]);
  }
  set_printoptions({.profile = "default"});
}

TEST(Parity, TensorsPrintAsInPyTorch) { expect_printed("printing"); }

// The tensors of the project's first acceptance list, from PyTorch 2.11.
TEST(Parity, TensorsPrintAsInPyTorch211) {
  EXPECT_EQ(read_cases("printed_2_11").size(), 45U);
  expect_printed("printed_2_11");
}

}  // namespace
}  // namespace tenon::parity
