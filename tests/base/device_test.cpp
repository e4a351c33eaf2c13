#include "tenon/device.h"

#include <thread>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Device, ReadsPyTorchsText) {
  EXPECT_EQ(Device("cpu"), Device::cpu());
  EXPECT_EQ(Device("meta"), Device::meta());
  EXPECT_EQ(Device("cuda:7"), Device::cuda(7));
  EXPECT_EQ(Device("privateuseone:0").type(), DeviceType::privateuseone);
  EXPECT_EQ(Device("cuda").index(), std::nullopt);
  EXPECT_EQ(Device("cuda:0").index(), 0);
}

TEST(Device, TheIndexIsPartOfTheValue) {
  EXPECT_NE(Device("meta"), Device("meta:0"));
  EXPECT_NE(Device("cuda"), Device("cuda:0"));
}

TEST(Device, RefusesWhatPyTorchRefuses) {
  expect_error<DeviceError>([] { Device(""); }, "must not be empty");
  for (const char* text : {"cpu:", "cpu:-1", "cpu:01", "cuda:1:2", "cpu ", "cuda:x", "cuda:+1"}) {
    expect_error<DeviceError>([&] { Device{text}; }, "Invalid device string", text);
  }
  expect_error<DeviceError>([] { Device("foo"); }, "Expected one of cpu, cuda", "foo");
  expect_error<DeviceError>([] { Device("CPU"); }, "Expected one of");
  expect_error<DeviceError>([] { Device("cuda:99999999999999"); }, "99999999999999");
}

TEST(Device, PrintsBothForms) {
  EXPECT_EQ(Device("cuda:1").str(), "cuda:1");
  EXPECT_EQ(Device("cuda:1").repr(), "device(type='cuda', index=1)");
  EXPECT_EQ(Device("meta").repr(), "device(type='meta')");
}

TEST(DeviceScope, TheInnermostWinsAndItEndsWithTheScope) {
  EXPECT_EQ(get_default_device(), Device::cpu());
  {
    const DeviceScope outer("meta");
    EXPECT_EQ(outer.device(), Device::meta());
    EXPECT_EQ(get_default_device(), Device::meta());
    {
      const DeviceScope inner("cpu");
      EXPECT_EQ(get_default_device(), Device::cpu());
    }
    EXPECT_EQ(get_default_device(), Device::meta());
  }
  EXPECT_EQ(get_default_device(), Device::cpu());
}

TEST(DeviceScope, EndsWithAnException) {
  try {
    const DeviceScope scope("meta");
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(get_default_device(), Device::cpu());
}

TEST(SetDefaultDevice, StaysUntilItIsTakenBackAndScopesWinOverIt) {
  set_default_device("meta");
  EXPECT_EQ(get_default_device(), Device::meta());
  {
    const DeviceScope scope("cpu");
    EXPECT_EQ(get_default_device(), Device::cpu());
    set_default_device("cuda");  // takes effect where the scope ends
    EXPECT_EQ(get_default_device(), Device::cpu());
  }
  EXPECT_EQ(get_default_device(), Device::cuda());
  set_default_device(std::nullopt);
  EXPECT_EQ(get_default_device(), Device::cpu());
}

TEST(SetDefaultDevice, BelongsToTheThread) {
  set_default_device("meta");
  Device seen = Device::meta();
  std::thread([&] { seen = get_default_device(); }).join();
  EXPECT_EQ(seen, Device::cpu());
  set_default_device(std::nullopt);
}

TEST(WithDevice, ReturnsWhatWasBuiltInside) {
  EXPECT_EQ(with_device("meta", [] { return get_default_device(); }), Device::meta());
  EXPECT_EQ(get_default_device(), Device::cpu());
}

TEST(Device, AnIndexOutOfRangeIsRefused) {
  EXPECT_EQ(Device(DeviceType::cuda, 32767).str(), "cuda:32767");
  for (const int index : {-1, -5, 32768, 70000}) {
    EXPECT_THROW(Device(DeviceType::cuda, index), DeviceError) << index;
    EXPECT_THROW(Device::cuda(index), DeviceError) << index;
  }
}

}  // namespace
}  // namespace tenon
