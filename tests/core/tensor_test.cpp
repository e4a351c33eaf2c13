#include "tenon/tensor.h"

#include <set>
#include <thread>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Tensor, CopiesAreNamesForTheSameTensor) {
  const Tensor a = arange(3), b = a;
  EXPECT_TRUE(a.is(b));
  EXPECT_EQ(a.id(), b.id());
  EXPECT_FALSE(a.is(arange(3)));
}

TEST(Tensor, IdsAreNeverUsedAgain) {
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(empty({1}).id());
  EXPECT_EQ(ids.size(), 1000U);
}

TEST(Tensor, SeveralThreadsSeeOneId) {
  for (int round = 0; round < 50; ++round) {
    const Tensor tensor = empty({1});
    std::uint64_t seen[4] = {};
    {
      std::vector<std::jthread> threads;
      for (auto& id : seen) threads.emplace_back([&] { id = tensor.id(); });
    }
    for (const auto id : seen) EXPECT_EQ(id, seen[0]);
  }
}

TEST(Tensor, AnUndefinedOneSaysSo) {
  const Tensor nothing;
  EXPECT_FALSE(nothing.defined());
  expect_error<Error>([&] { nothing.shape(); }, "undefined");
  expect_error<Error>([&] { nothing.id(); }, "undefined");
  expect_error<Error>([&] { nothing.view({1}); }, "view", "undefined");
  expect_error<Error>([&] { cat({arange(2), nothing}); }, "cat", "undefined");
  EXPECT_EQ(nothing.repr(), "tensor(undefined)");
}

TEST(Tensor, FactsAreThoseOfItsLayout) {
  const Tensor t = empty({2, 3, 4}, {.dtype = bfloat16}).transpose(0, 2);
  EXPECT_EQ(t.shape(), Shape({4, 3, 2}));
  EXPECT_EQ(t.size(-1), 2);
  EXPECT_EQ(t.stride(), Dims({1, 4, 12}));
  EXPECT_EQ(t.stride(0), 1);
  EXPECT_EQ(t.dim(), 3);
  EXPECT_EQ(t.numel(), 24);
  EXPECT_EQ(t.element_size(), 2);
  EXPECT_EQ(t.nbytes(), 48);
  EXPECT_EQ(t.slice(0, 1).storage_offset(), 1);
  EXPECT_TRUE(t.is_floating_point());
  EXPECT_FALSE(t.is_complex());
  EXPECT_TRUE(t.is_cpu());
  EXPECT_FALSE(t.is_contiguous());
  expect_error<IndexError>([&] { t.size(3); }, "[-3, 2]");
  expect_error<IndexError>([] { tensor(1).size(0); }, "has no dimensions");
}

TEST(Tensor, DataIsCheckedAgainstTheDType) {
  const Tensor t = arange(4.0);
  EXPECT_EQ(t.data<float>()[3], 3.0f);
  EXPECT_EQ(t.slice(0, 2).data<float>()[0], 2.0f);
  expect_error<DTypeError>([&] { t.data<double>(); }, "float64", "torch.float32");
  EXPECT_EQ(empty({0}).data<float>(), nullptr);
}

TEST(Tensor, DataThatIsNotThereSaysWhatToDo) {
  expect_error<Error>([] { empty({2}, {.device = "meta"}).data<float>(); }, "meta", "[2]",
                      "assign");
  const Tensor complex = zeros({2}, {.dtype = complex64});
  expect_error<Error>([&] { complex.conj().data<std::complex<float>>(); }, "resolve_conj");
  expect_error<Error>([&] { complex.conj().imag().data<float>(); }, "resolve_neg");
}

TEST(Tensor, ItemConvertsTheOneElement) {
  EXPECT_EQ(tensor(7).item<int>(), 7);
  EXPECT_EQ(tensor({{2.5}}).item<double>(), 2.5);
  EXPECT_EQ(tensor(true).item().kind(), Scalar::Kind::boolean);
  EXPECT_EQ(tensor(std::complex<double>(1, 2)).conj().item<std::complex<double>>(),
            std::complex<double>(1, -2));
  expect_error<ValueError>([] { tensor(300).item<std::uint8_t>(); }, "300");
  expect_error<Error>([] { arange(2).item(); }, "2 elements");
  expect_error<NotImplementedError>([] { empty({1}, {.device = "meta"}).item(); }, "meta");
  expect_error<Error>([] { empty({2}, {.device = "meta"}).item(); }, "2 elements");
  expect_error<DTypeError>([] { empty({}, {.dtype = qint8}).item(); }, "qint8");
}

TEST(Tensor, ReadersOnManyThreadsDoNotMeet) {
  const Tensor base = arange(100.0).requires_grad_();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const Tensor view = base.narrow(0, i % 50, 10);
        EXPECT_TRUE(view.base().is(base));
        EXPECT_TRUE(view.clone().requires_grad());
        EXPECT_EQ(base.detach().version(), 0);
      }
    });
  }
}

TEST(Attributes, BelongToTheBody) {
  const Tensor a = arange(2), b = arange(3);
  a.set_attribute("name", "first");
  a.set_attribute("count", 3);
  a.set_attribute("count", 4);
  ASSERT_TRUE(a.attribute("count"));
  EXPECT_EQ(a.attribute("count")->as_int(), 4);
  EXPECT_FALSE(a.attribute("nothing"));
  EXPECT_FALSE(a.clone().attribute("name"));
  swap_tensors(a, b);
  EXPECT_FALSE(a.attribute("name"));
  EXPECT_EQ(b.attribute("name")->as_string(), "first");
}

TEST(Tensor, AnAttributeOutlivesThoseSetAfterIt) {
  const Tensor a = zeros({1});
  a.set_attribute("first", "x");
  const auto first = a.attribute("first");
  for (int i = 0; i < 100; ++i) a.set_attribute("n" + std::to_string(i), i);
  EXPECT_EQ(first->as_string(), "x");
}

TEST(Tensor, BracesMeanTheSizeOrTheOptionsAndNeverADtype) {
  EXPECT_EQ(ones({1}).view({}).shape(), Shape());
  EXPECT_EQ(ones({1}).view({}).dtype(), float32);
  EXPECT_EQ(ones({2, 3}).t().clone({}).stride(), Dims({1, 3}));
}

}  // namespace
}  // namespace tenon
