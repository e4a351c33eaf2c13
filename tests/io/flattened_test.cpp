// What a file says of user-defined tensors is checked before their classes see it.
#include "io/read/flattened.h"

#include <limits>

#include "support/matchers.h"

namespace tenon {
namespace {

// How often it was asked, and for what.
struct Asked {
  int times = 0;
  Layout like;
};

Asked& asked() {
  static Asked the_only;
  return the_only;
}

const char* registered() {
  static const bool once = [] {
    register_unflatten("CheckedTensor", [](const Flattened&, const Layout& like) {
      ++asked().times;
      asked().like = like;
      return zeros({2}, {.dtype = like.dtype});
    });
    return true;
  }();
  return once ? "CheckedTensor" : "";
}

Value ints(const std::vector<std::int64_t>& numbers) {
  std::vector<Value> items(numbers.begin(), numbers.end());
  return Value::list(std::move(items));
}

struct Described {
  Value shape = ints({2, 3}), stride = ints({3, 1}), dtype = "float32", requires_grad = false,
        parameter = false;
};

Value dict_of(const Described& one) {
  return Value::dict({{"tenon.type", registered()},
                      {"tenon.dtype", one.dtype},
                      {"tenon.shape", one.shape},
                      {"tenon.stride", one.stride},
                      {"tenon.requires_grad", one.requires_grad},
                      {"tenon.parameter", one.parameter},
                      {"tenon.context", Value()},
                      {"elem", ones({2})}});
}

TEST(Flattened, AClassIsHandedAShapeThatCanBe) {
  asked() = {};
  for (const Described& good :
       {Described{}, Described{.shape = ints({}), .stride = ints({})},
        Described{.shape = ints({0, 5}), .stride = ints({5, 1}), .requires_grad = true},
        Described{.dtype = "int64", .parameter = true}}) {
    EXPECT_TRUE(with_user_defined(dict_of(good)).is_tensor());
  }
  EXPECT_EQ(asked().times, 4);
  with_user_defined(dict_of({}));
  EXPECT_EQ(asked().like.shape, Shape({2, 3}));
  EXPECT_EQ(asked().like.strides, Dims({3, 1}));
}

TEST(Flattened, WhatCannotBeIsRefusedBeforeTheClassSeesIt) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  const std::pair<Described, const char*> wrong[] = {
      {{.shape = ints({-5, huge, huge}), .stride = ints({1})}, "3 sizes and 1 strides"},
      {{.shape = ints({-5, 3})}, "size -5 is negative"},
      {{.stride = ints({3, -1})}, "stride -1 is negative"},
      {{.shape = ints({huge, huge})}, "overflow"},
      {{.shape = ints({0, huge, huge}), .stride = ints({1, 1, 1})}, "overflow"},
      {{.stride = ints({huge, huge})}, "overflow"},
      {{.shape = ints(std::vector<std::int64_t>(65, 1)),
        .stride = ints(std::vector<std::int64_t>(65, 1))},
       "65 dimensions"},
      {{.shape = Value::list({1.5, 2})}, "tenon.shape"},
      {{.shape = Value()}, "tenon.shape"},
      {{.stride = Value::list({Value("3"), 1})}, "tenon.stride"},
      {{.dtype = "float33"}, "float33"},
      {{.dtype = "int64", .requires_grad = true}, "int64"},
      {{.requires_grad = 1}, "tenon.requires_grad"},
      {{.parameter = Value()}, "tenon.parameter"}};
  asked() = {};
  for (const auto& [one, why] : wrong) {
    expect_error<ValueError>([&] { with_user_defined(dict_of(one)); }, "CheckedTensor", why);
  }
  EXPECT_EQ(asked().times, 0);
}

}  // namespace
}  // namespace tenon
