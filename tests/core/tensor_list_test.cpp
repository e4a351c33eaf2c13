#include "tenon/tensor_list.h"

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "support/matchers.h"

namespace tenon {
namespace {

std::size_t size_of(const TensorList& list) { return list.size(); }

TEST(TensorList, IsMadeOfBracesVectorsArraysAndSpans) {
  const Tensor a = ones({1}), b = ones({2});
  EXPECT_EQ(size_of({}), 0U);
  EXPECT_EQ(size_of({a}), 1U);
  EXPECT_EQ(size_of({a, b, a}), 3U);
  EXPECT_EQ(size_of(std::vector<Tensor>{a, b}), 2U);
  EXPECT_EQ(size_of(std::array<Tensor, 2>{a, b}), 2U);
  const Tensor both[] = {a, b};
  EXPECT_EQ(size_of(both), 2U);
  EXPECT_EQ(size_of(std::span<const Tensor>(both)), 2U);
}

TEST(TensorList, IsNotMadeOfATensorWithoutBraces) {
  // pad_sequence(x) would take x for the only sequence, where PyTorch takes its rows.
  EXPECT_FALSE((std::is_convertible_v<Tensor, TensorList>));
  EXPECT_FALSE((std::is_convertible_v<const Tensor&, TensorList>));
}

TEST(TensorList, IsMadeOfParametersAndOutlivesWhatItWasMadeOf) {
  auto module = std::make_unique<nn::Linear>(2, 3);
  const TensorList one{module->weight}, two{module->weight, module->bias};
  const OneTensor of_a_temporary = ones({2, 2});
  const TensorList last{of_a_temporary};
  module.reset();
  EXPECT_EQ(one[0].shape(), Shape({3, 2}));
  EXPECT_EQ(two[1].shape(), Shape({3}));
  EXPECT_EQ(last[0].sum().item<double>(), 4);
}

TEST(TensorList, KeepsTheTensorsOfTheListItWasMadeOf) {
  std::vector<Tensor> source{ones({1}), ones({2})};
  TensorList list(source);
  source.clear();
  list.push_back(ones({3}));
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[1].size(0), 2);
  EXPECT_EQ(list.vector().back().size(0), 3);
}

}  // namespace
}  // namespace tenon
