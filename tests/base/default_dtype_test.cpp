#include "tenon/default_dtype.h"

#include <thread>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(DefaultDType, IsFloat32UntilChanged) { EXPECT_EQ(get_default_dtype(), float32); }

TEST(DefaultDType, IsTheProcessesAndAScopeIsTheThreads) {
  set_default_dtype(float64);
  DType seen = float32;
  {
    const DTypeScope scope(bfloat16);
    EXPECT_EQ(get_default_dtype(), bfloat16);
    std::thread([&] { seen = get_default_dtype(); }).join();
  }
  EXPECT_EQ(seen, float64);
  EXPECT_EQ(get_default_dtype(), float64);
  set_default_dtype(float32);
}

TEST(DefaultDType, OnlyFloatingTypesThatCalculate) {
  for (const DType dtype : {int32, bool_, complex64, float8_e4m3fn}) {
    expect_error<DTypeError>([&] { set_default_dtype(dtype); }, repr(dtype));
    expect_error<DTypeError>([&] { const DTypeScope scope(dtype); }, "float32");
  }
  EXPECT_EQ(get_default_dtype(), float32);
}

}  // namespace
}  // namespace tenon
