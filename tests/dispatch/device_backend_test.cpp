// A device from outside the library: memory that is the host's and counts as its own.
#include "tenon/extend/device_backend.h"

#include <cstdlib>
#include <cstring>

#include "core/body_editor.h"
#include "support/matchers.h"

namespace tenon {
namespace {

class ToyBackend final : public DeviceBackend {
 public:
  int device_count() const override { return 2; }
  void* allocate(std::size_t nbytes, Device) override {
    if (nbytes > 1'000'000) throw OutOfMemoryError("toy: too much", nbytes);
    return std::malloc(nbytes);
  }
  void deallocate(void* data, std::size_t, Device) noexcept override { std::free(data); }
  void copy(const Tensor& dst, const Tensor& src) override {
    ++copies;
    on_host(dst).copy_(on_host(src));
  }
  void synchronize(Device) override {}
  int copies = 0;

  // The same bytes as a CPU tensor, which a toy may do.
  static Tensor on_host(const Tensor& t) {
    if (t.is_cpu()) return t;
    Tensor flat = from_blob(t.storage().data(),
                            {static_cast<std::int64_t>(t.storage().nbytes()) / t.element_size()},
                            {.dtype = t.dtype()});
    Tensor view = flat.as_strided(t.shape(), t.stride(), t.storage_offset());
    return t.is_conj() ? view.conj() : view;
  }
};

ToyBackend& toy() {
  static ToyBackend* backend = [] {
    auto owned = std::make_unique<ToyBackend>();
    ToyBackend* raw = owned.get();
    register_device("toy", std::move(owned));
    return raw;
  }();
  return *backend;
}

class Toy : public testing::Test {
 protected:
  void SetUp() override { toy(); }
};

TEST_F(Toy, IsADeviceLikeAnyOther) {
  const Tensor t = empty({2, 3}, {.device = "toy:1"});
  EXPECT_EQ(t.device().str(), "toy:1");
  EXPECT_EQ(empty({1}, {.device = "toy"}).device().str(), "toy:0");
  EXPECT_EQ(t.t().reshape({3, 2}).device(), t.device());
  expect_error<DeviceError>([] { empty({1}, {.device = "toy:2"}); }, "toy:2", "only 2");
  expect_error<DeviceError>([] { Device("plaything"); }, "mtia, privateuseone, toy");
  expect_error<OutOfMemoryError>([] { empty({1'000'000}, {.device = "toy"}); }, "too much");
}

TEST_F(Toy, CopiesGoThroughItsBackend) {
  const Tensor here = arange(6.0).view({2, 3});
  const int before = toy().copies;
  const Tensor there = here.t().to(Device("toy"));
  EXPECT_EQ(toy().copies, before + 1);
  EXPECT_EQ(there.shape(), Shape({3, 2}));
  EXPECT_TRUE(equal(there.cpu(), here.t()));
  EXPECT_EQ(there.to({.dtype = int32, .device = Device::cpu()}).dtype(), int32);
  EXPECT_TRUE(equal(there.clone().cpu(), here.t()));
  EXPECT_EQ(there[0][1].item<float>(), 3.0f);
  expect_error<DeviceError>([&] { there.data<float>(); }, "toy:0", "cpu()");
}

TEST_F(Toy, PrintsItsElementsAndItsName) {
  EXPECT_EQ(arange(3).to(Device("toy")).repr(), "tensor([0, 1, 2], device='toy:0')");
  const Tensor c = tensor({std::complex<double>(1, 2)}).to(Device("toy")).conj();
  EXPECT_EQ(c.repr(), "tensor([1.-2.j], device='toy:0')");
}

TEST_F(Toy, HasItsOwnAccounts) {
  const Device device("toy:1");
  const std::int64_t before = memory_allocated(device), cpu = memory_allocated();
  {
    const Tensor t = empty({100}, {.device = device});
    EXPECT_EQ(memory_allocated(device), before + 400);
    EXPECT_EQ(memory_allocated(), cpu);
  }
  EXPECT_EQ(memory_allocated(device), before);
}

TEST_F(Toy, OperatorsWithoutAKernelSaySoAndOneCanBeFilledIn) {
  const Tensor t = empty({2}, {.device = "toy"});
  expect_error<NotImplementedError>([&] { t.zero_(); }, "'zero_'", "toy:0", "set_kernel");
  set_kernel<op::zero_>(t.device().type(),
                        [](const Tensor& self) { ToyBackend::on_host(self).zero_(); });
  t.zero_();
  EXPECT_EQ(t.version(), 1);
  EXPECT_TRUE(equal(t.cpu(), zeros({2})));
  set_kernel<op::fill_>(t.device().type(), [](const Tensor& self, const Scalar& value) {
    ToyBackend::on_host(self).fill_(value);
  });
  EXPECT_TRUE(equal(ones({3}, {.device = "toy"}).cpu(), ones({3})));
  EXPECT_TRUE(equal(arange(3, {.device = "toy"}).cpu(), arange(3)));
}

TEST_F(Toy, MixingDevicesNamesBoth) {
  const Tensor here = ones({2}), there = here.to(Device("toy"));
  expect_error<DeviceError>([&] { cat({here, there}); }, "cpu", "toy:0");
  here.copy_(there);
  there.copy_(here);
  const Tensor meta = there.to(Device::meta());
  expect_error<NotImplementedError>([&] { there.copy_(meta); }, "no data!");
}

TEST_F(Toy, BetweenTwoKindsOfDeviceTheCpuIsInBetween) {
  static const DeviceType other = register_device("doll", std::make_unique<ToyBackend>());
  const Tensor there = arange(6.0).view({2, 3}).to(Device("toy"));
  const Tensor elsewhere = there.t().to({.dtype = float64, .device = Device(other)});
  EXPECT_EQ(elsewhere.device().str(), "doll:0");
  EXPECT_TRUE(equal(elsewhere.cpu(), arange(6.0).view({2, 3}).t()));
}

TEST_F(Toy, SetDataMovesAParameterThere) {
  const Tensor p = nn::make_parameter(ones({2}));
  const auto id = p.id();
  p.set_data(p.to(Device("toy")));
  EXPECT_EQ(p.id(), id);
  EXPECT_EQ(p.device().str(), "toy:0");
  EXPECT_TRUE(p.is_parameter());
}

TEST_F(Toy, ANameIsTakenOnce) {
  expect_error<ValueError>([] { register_device("toy", std::make_unique<ToyBackend>()); }, "toy",
                           "already");
  expect_error<ValueError>([] { register_device("cpu", std::make_unique<ToyBackend>()); }, "cpu");
  expect_error<ValueError>([] { register_device("not a name", std::make_unique<ToyBackend>()); },
                           "not a name");
  EXPECT_EQ(find_backend(DeviceType::cpu), nullptr);
}

// test_materialize_device
TEST_F(Toy, LazyModulesMaterialiseWhereTheyWereMoved) {
  nn::LazyLinear lazy(4);
  const Tensor weight = lazy.weight;
  lazy.to(Device("toy:1"));
  EXPECT_TRUE(is_lazy(weight));
  EXPECT_EQ(weight.device().str(), "toy:1");
  nn::Linear plain(3, 4);
  lazy.load_state_dict(plain.state_dict());
  EXPECT_TRUE(lazy.weight.get().is(weight));
  EXPECT_EQ(weight.device().str(), "toy:1");
  EXPECT_TRUE(equal(weight.cpu(), plain.weight));
  EXPECT_EQ(lazy.repr(), plain.repr());
  const Tensor alone = uninitialized_parameter({.device = "toy"});
  materialize(alone, {2, 2});
  EXPECT_EQ(alone.device().str(), "toy:0");
  EXPECT_EQ(alone.shape(), Shape({2, 2}));
}

}  // namespace
}  // namespace tenon
