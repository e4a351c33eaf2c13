// What is counted of a program while it is written is what reading it counts.
#include "io/pickle/pickle_writer.h"

#include <functional>

#include "io/pickle/pickle.h"
#include "io/pickle/pickle_limits.h"
#include "support/matchers.h"

namespace tenon {
namespace {

using namespace pickle_op;

std::uint32_t no_meaning(std::string_view /*module*/, std::string_view /*name*/) { return 0; }

// So many of something, if that may be: the program, or the message of the error.
struct Written {
  std::string program, refused;
};
Written written(std::size_t count, const std::function<void(PickleWriter&, std::size_t)>& write) {
  ReadMeter meter = ReadMeter::of_saving();
  PickleWriter out(meter);
  Written done;
  try {
    write(out, count);
    done.program = out.finish();
  } catch (const ValueError& error) {
    done.refused = error.what();
  }
  return done;
}
std::string refused_by_reader(const std::string& program) {
  static const std::string file = "program";
  ReadMeter meter = ReadMeter::of_saving();
  try {
    const Pickle pickle(std::as_bytes(std::span(program)), 0, file, no_meaning, Pickle::Names::any,
                        meter);
    return {};
  } catch (const FormatError& error) {
    return error.what();
  }
}

// As many as may be are read, and one more is not written.
void expect_limit(std::size_t most, const char* what,
                  const std::function<void(PickleWriter&, std::size_t)>& write) {
  const Written whole = written(most, write);
  EXPECT_EQ(whole.refused, "");
  EXPECT_EQ(refused_by_reader(whole.program), "");
  const Written more = written(most + 1, write);
  EXPECT_EQ(more.program, "");
  EXPECT_THAT(more.refused, testing::HasSubstr(what));
  EXPECT_THAT(more.refused, testing::HasSubstr(std::to_string(most)));
}

void empty_list(PickleWriter& out) { out.op(kEmptyList); }

TEST(PickleWriter, ObjectsAreCounted) {
  // An empty tuple, and tuples of it: one value waits. Then tuples of more, and what is remembered.
  expect_limit(kMostNodes, "objects", [](PickleWriter& out, std::size_t n) {
    out.mark();
    for (std::size_t left = n - 1; left > 0;) {
      const std::size_t some = std::min<std::size_t>(left, 900);
      out.op(kEmptyTuple);
      for (std::size_t i = 1; i < some; ++i) out.op(kTuple1);
      left -= some;
    }
    out.op(kTuple);
  });
}

TEST(PickleWriter, WhatHasItemsIsCounted) {
  expect_limit(kMostContainers, "lists and dicts", [](PickleWriter& out, std::size_t n) {
    empty_list(out);
    out.items(PickleWriter::Batches::of_list, n - 1, [&](std::size_t i) {
      if (i % 2 == 0) {
        empty_list(out);
        out.items(PickleWriter::Batches::of_list, 1, [&](std::size_t) { out.none(); });
      } else {
        out.op(kEmptyDict);
        out.items(PickleWriter::Batches::of_dict, 1, [&](std::size_t) {
          out.none();
          out.boolean(true);
        });
      }
    });
  });
}

TEST(PickleWriter, ValuesThatWaitAreCounted) {
  expect_limit(kMostWaiting, "values of a tuple", [](PickleWriter& out, std::size_t n) {
    out.mark();
    for (std::size_t i = 0; i < n; ++i) {
      switch (i % 5) {
        case 0: out.none(); break;
        case 1: out.boolean(true); break;
        case 2: out.integer(static_cast<std::int64_t>(i) << (i % 40)); break;
        case 3: out.real(1.5); break;
        default: out.big_integer("123456789"); break;
      }
    }
    out.op(kTuple);
  });
}

TEST(PickleWriter, NumbersOfTheMemoAreCounted) {
  // The first number is 0.
  expect_limit(std::size_t{kHighestMemo} + 1, "objects and texts",
               [](PickleWriter& out, std::size_t n) {
                 out.none();
                 for (std::size_t i = 0; i < n; ++i) out.remember(nullptr);
               });
}

// What the writer counts after each operation is what there is on the stack then.
TEST(PickleWriter, EveryOperationCountsWhatItTakesAndGives) {
  ReadMeter meter = ReadMeter::of_saving();
  PickleWriter out(meter);
  static int identity;
  std::size_t expected = 0;
  const auto adds = [&](std::size_t n, const char* what) {
    expected += n;
    EXPECT_EQ(out.waiting(), expected) << what;
  };
  out.begin_tuple(12);
  adds(0, "a mark");
  out.none();
  adds(1, "None");
  out.integer(std::int64_t{1} << 40);
  adds(1, "an integer");
  out.text("text", nullptr);
  adds(1, "a text");
  empty_list(out);
  out.remember(&identity);
  adds(1, "a list");
  ASSERT_TRUE(out.again(&identity));
  adds(1, "what is there again");
  for (const std::size_t n : {0u, 1u, 2u, 3u, 4u, 9u}) {
    const std::int64_t numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    out.tuple_of_integers(numbers, n);
    adds(1, "a tuple");
  }
  for (const std::size_t n : {0u, 1u, 2u, 1500u}) {
    empty_list(out);
    out.items(PickleWriter::Batches::of_list, n, [&](std::size_t) { out.none(); });
    adds(1, "a list with items");
    out.op(kEmptyDict);
    out.items(PickleWriter::Batches::of_dict, n, [&](std::size_t i) {
      out.integer(static_cast<std::int64_t>(i));
      out.none();
    });
    adds(1, "a dict with items");
  }
  out.global("collections", "OrderedDict");
  adds(1, "a name");
  out.op(kEmptyTuple);
  adds(1, "an empty tuple");
  out.op(kReduce);
  expected -= 1;
  adds(0, "a call");
  out.op(kEmptyDict);
  adds(1, "a state");
  out.build(false);
  expected -= 1;
  adds(0, "an object with a state");
  out.op(kBinPersId);
  adds(0, "a storage");
  // The marks are gone, and what was above them.
  out.end_tuple(12);
  EXPECT_EQ(out.waiting(), 1U);
}

// Two objects for each, so that the limit of objects is met before that of these.
TEST(PickleWriter, AStateIsCountedAsItemsAre) {
  for (const bool has_items : {false, true}) {
    ReadMeter meter = ReadMeter::of_saving();
    PickleWriter out(meter);
    out.global("collections", "OrderedDict");
    out.op(kEmptyTuple);
    out.op(kReduce);
    if (has_items) {
      out.items(PickleWriter::Batches::of_mapping, 1, [&](std::size_t) {
        out.none();
        out.none();
      });
    }
    EXPECT_EQ(out.containers(), has_items ? 1u : 0u);
    out.none();
    out.build(has_items);
    EXPECT_EQ(out.containers(), 1u);
  }
}

}  // namespace
}  // namespace tenon
