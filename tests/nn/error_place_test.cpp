// Errors say which layer of a model they came from.
#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

constexpr const char* kWrong =
    "mat1 and mat2 shapes cannot be multiplied (2x4 and 3x5): linear: input of shape [2, 4] has 4 "
    "features but weight of shape [5, 3] expects 3";

TEST(ErrorPlaces, OfALayerAloneAreTheLayer) {
  Linear layer(3, 5);
  EXPECT_EQ(message([&] { layer(ones({2, 4})); }),
            std::string(kWrong) + " (in Linear(in_features=3, out_features=5, bias=True))");
}

class Block final : public Layer {
 public:
  Child<Linear> fc{this, "fc", 3, 5};

 protected:
  Tensor forward(const Tensor& x) override { return fc(x); }
};

TEST(ErrorPlaces, OfALayerDeepInAModelHaveItsPath) {
  Sequential net(make<Identity>(), make<Sequential>(make<Identity>(), make<Block>()));
  EXPECT_EQ(message([&] { net(ones({2, 4})); }),
            std::string(kWrong) + " (in 1.1.fc: Linear(in_features=3, out_features=5, bias=True))");
}

TEST(ErrorPlaces, AreTheSameWithHooksAndWithArgumentsOfAnyType) {
  Block block;
  block.register_forward_hook([](Module&, const auto&, Tensor&) {});
  const std::string expected =
      std::string(kWrong) + " (in fc: Linear(in_features=3, out_features=5, bias=True))";
  EXPECT_EQ(message([&] { block(ones({2, 4})); }), expected);
  EXPECT_EQ(message([&] { block.invoke(Arguments{ones({2, 4})}); }), expected);
}

TEST(ErrorPlaces, KeepTheTypeOfTheError) {
  Block block;
  EXPECT_THROW(block(ones({2, 4})), ShapeError);
  EXPECT_THROW(block(ones({2, 3}, {.dtype = float64})), DTypeError);
}

class Deaf final : public Layer {
 protected:
  Tensor forward(const Tensor& x) override { return x.view({7}); }
};

TEST(ErrorPlaces, OfWhatAModuleCalculatesItselfAreThatModule) {
  Sequential net(make<Deaf>());
  const std::string text = message([&] { net(ones({2, 4})); });
  EXPECT_THAT(text, testing::EndsWith(" (in 0: Deaf())"));
}

class Listed final : public Layer {
 public:
  Child<ModuleList<Block>> blocks{this, "blocks", std::vector{make<Block>(), make<Block>()}};

 protected:
  Tensor forward(const Tensor& x) override { return blocks[1](x); }
};

TEST(ErrorPlaces, OfLayersInListsHaveTheListInTheirPath) {
  Listed net;
  EXPECT_THAT(message([&] { net(ones({2, 4})); }), testing::HasSubstr(" (in blocks.1.fc: Linear("));
}

}  // namespace
}  // namespace tenon::nn
