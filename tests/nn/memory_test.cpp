// Every allocation of a load and of a conversion fails, one after the other. A program of its own,
// because it takes the place of operator new.
#include <cstdlib>
#include <new>

#include "support/matchers.h"
#include "support/modules.h"
#include "support/temp_dir.h"

namespace {

// How many allocations of this thread still succeed; -1: all.
thread_local long left = -1;

}  // namespace

void* operator new(std::size_t size) {
  if (left == 0) throw std::bad_alloc();
  if (left > 0) --left;
  if (void* made = std::malloc(size == 0 ? 1 : size)) return made;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tenon::nn {
namespace {

// Parameters with everything that goes along when they are replaced.
class Laden final : public Module {
 public:
  Parameter plain{this, "plain", full({2, 3}, 1.5)};
  Parameter laden{this, "laden", full({3}, 2.5)};
  Parameter frozen{this, "frozen", make_parameter(full({3}, 3.5), false)};
  Parameter tied{this, "tied", laden};
  Buffer count{this, "count", zeros({})};
  Child<Linear> sub{this, "sub", 2, 2};

  Laden() {
    laden->set_grad(full({3}, 0.5));
    laden->set_attribute("scale", 3);
    laden->set_attribute("a name that is too long for the text itself to hold", 4);
    plain->set_grad(full({2, 3}, 0.25));
    sub->weight->set_attribute("scale", 5);
  }
};

// Does it with each allocation failing in turn, until none is left that does: each time the module
// is as it was. At least so many have to be found, or nothing was tried.
template <class F>
void expect_all_or_nothing(F&& f, long at_least) {
  long k = 0;
  for (bool failed = true; failed; ++k) {
    ASSERT_LT(k, 5000);
    Laden net;
    // Some that others hold, so that they cannot be made over.
    const Tensor held = net.laden, other = net.sub->weight;
    const Snapshot before(net);
    failed = false;
    left = k;
    try {
      f(net);
      left = -1;
    } catch (const std::exception& error) {
      left = -1;
      failed = true;
      SCOPED_TRACE("allocation " + std::to_string(k) + ": " + error.what());
      before.expect_the_same();
    }
  }
  EXPECT_GE(k, at_least);
}

TEST(WithoutMemory, AStateDictIsLoadedWholeOrNotAtAll) {
  Laden from;
  {
    const NoGradScope no_grad;
    for (const Tensor& one : from.parameters()) one.add_(1);
  }
  const StateDict state = copied(from.state_dict());
  for (const bool swaps : {false, true}) {
    const SwapOnConversionScope scope(swaps);
    for (const bool assign : {false, true}) {
      SCOPED_TRACE((swaps ? "swap" : "no swap") + std::string(assign ? ", assign" : ""));
      expect_all_or_nothing([&](Module& net) { net.load_state_dict(state, {.assign = assign}); },
                            10);
    }
  }
}

TEST(WithoutMemory, ALazyModuleIsLoadedFromAFileWholeOrNotAtAll) {
  const TempDir dir;
  save(Linear(3, 4).state_dict(), dir.file("net.pth"));
  const Checkpoint file = Checkpoint::open(dir.file("net.pth"));
  for (const DType dtype : {float32, float64}) {
    SCOPED_TRACE(repr(dtype));
    long k = 0;
    for (bool failed = true; failed; ++k) {
      ASSERT_LT(k, 5000);
      LazyLinear net(4, {.dtype = dtype});
      net.bias->set_attribute("scale", 3);
      net.bias->register_hook([](const Tensor& grad) { return grad; });
      failed = false;
      left = k;
      try {
        load_into(net, file);
        left = -1;
      } catch (const std::exception& error) {
        left = -1;
        failed = true;
        SCOPED_TRACE("allocation " + std::to_string(k) + ": " + error.what());
        ASSERT_TRUE(is_lazy(net.weight));
        ASSERT_TRUE(is_lazy(net.bias));
        ASSERT_EQ(net.type_name(), "LazyLinear");
      }
      EXPECT_EQ(net.bias->attribute("scale")->as_int(), 3);
    }
    EXPECT_GE(k, 10);
  }
}

TEST(WithoutMemory, AModuleIsConvertedWholeOrNotAtAll) {
  for (const auto policy :
       {ConversionPolicy::set_data, ConversionPolicy::overwrite, ConversionPolicy::swap}) {
    const ConversionScope scope(policy);
    SCOPED_TRACE(static_cast<int>(policy));
    expect_all_or_nothing([](Module& net) { net.to(float64); }, 10);
    expect_all_or_nothing([](Module& net) { net.to_empty(Device::meta()); }, 10);
  }
}

}  // namespace
}  // namespace tenon::nn
