#include "tenon/nn/module.h"

#include "support/matchers.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;

class Block final : public Layer {
 public:
  explicit Block(std::int64_t size) { first = make<Linear>(size, size); }
  Child<Linear> first{this, "first", nullptr};
  Child<Linear> second{this, "second", 3, 3, {.bias = false}};
  Parameter scale{this, "scale", ones({2})};
  Buffer seen{this, "seen", zeros({}), {.persistent = false}};
  Buffer count{this, "count", zeros({})};

 protected:
  Tensor forward(const Tensor& x) override { return second(first(x)); }
};

std::vector<std::string> names(const Module::NamedTensors& tensors) {
  std::vector<std::string> all;
  for (const auto& [name, tensor] : tensors) all.push_back(name);
  return all;
}

TEST(Module, HasItsSlotsInTheOrderTheyAreDeclared) {
  Block block(3);
  EXPECT_THAT(names(block.named_parameters()),
              ElementsAre("scale", "first.weight", "first.bias", "second.weight"));
  EXPECT_THAT(names(block.named_buffers()), ElementsAre("seen", "count"));
  std::vector<std::string> keys;
  for (const auto& [key, value] : block.state_dict()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("scale", "count", "first.weight", "first.bias", "second.weight"));
}

TEST(Module, PrintsAsPyTorchDoes) {
  EXPECT_EQ(Block(3).repr(),
            "Block(\n"
            "  (first): Linear(in_features=3, out_features=3, bias=True)\n"
            "  (second): Linear(in_features=3, out_features=3, bias=False)\n"
            ")");
}

TEST(Module, LoadsItsOwnStateDict) {
  Block a(3), b(3);
  EXPECT_EQ(b.load_state_dict(a.state_dict()).repr(), "<All keys matched successfully>");
  EXPECT_TRUE(equal(a.first->weight, b.first->weight));
  EXPECT_NE(a.first->weight->data_ptr(), b.first->weight->data_ptr());
}

TEST(Module, ClonesShareNothing) {
  auto a = make<Block>(3);
  a->second->weight = a->first->weight;
  auto b = clone(*a);
  EXPECT_EQ(b->repr(), a->repr());
  EXPECT_TRUE(b->second->weight.get().is(b->first->weight));
  EXPECT_TRUE(equal(a->first->weight, b->first->weight));
  EXPECT_NE(a->first->weight->data_ptr(), b->first->weight->data_ptr());
  EXPECT_EQ(names(a->named_parameters()), names(b->named_parameters()));
}

}  // namespace
}  // namespace tenon::nn
