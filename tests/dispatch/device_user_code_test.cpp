// A device's backend and its kernels are user code: they may do anything to the variables that a
// call was given. Sanitizers find what is not expected here.
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/matchers.h"
#include "support/talking_device.h"
#include "support/temp_dir.h"

namespace tenon {
namespace {

// The caller's variables: tensors on the device, one on the host, and what functions are told.
struct Own {
  Own() {
    const Device device = TalkingBackend::device();
    for (int i = 0; i < 3; ++i)
      tensors.push_back(std::make_unique<Tensor>(full({2, 2}, i + 1.0).to(device)));
    here = std::make_unique<Tensor>(full({2, 2}, 7.0));
    list = {*tensors[0], *tensors[1]};
    size = std::make_unique<Shape>(Shape{2, 2});
    number = std::make_unique<Scalar>(3.0);
    options = std::make_unique<TensorOptions>(TensorOptions{.device = device});
    empty = std::make_unique<EmptyOptions>(EmptyOptions{.device = device});
    like = std::make_unique<LikeOptions>(LikeOptions{.device = device});
    drawing = std::make_unique<BernoulliOptions>(BernoulliOptions{.generator = Generator()});
  }
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::unique_ptr<Tensor> here;
  std::vector<Tensor> list;
  std::unique_ptr<Shape> size;
  std::unique_ptr<Scalar> number;
  std::unique_ptr<TensorOptions> options;
  std::unique_ptr<EmptyOptions> empty;
  std::unique_ptr<LikeOptions> like;
  std::unique_ptr<BernoulliOptions> drawing;

  const Tensor& a() const { return *tensors[0]; }
  const Tensor& b() const { return *tensors[1]; }
  const Tensor& c() const { return *tensors[2]; }
};

void undefine(Own& own) {
  for (auto& tensor : own.tensors) {
    if (tensor) *tensor = Tensor();
  }
  if (own.here) *own.here = Tensor();
  for (Tensor& tensor : own.list) tensor = Tensor();
}
void replace(Own& own) {
  for (auto& tensor : own.tensors) {
    if (tensor) *tensor = full({7}, 1.0);
  }
  if (own.here) *own.here = full({7}, 1.0);
  own.list.assign(3, full({7}, 1.0));
}
void destroy(Own& own) {
  // Whatever runs meanwhile finds nothing.
  Own gone = std::move(own);
  own.tensors.resize(3);
}

struct Function {
  const char* name;
  std::function<Tensor(const Own&)> run;
  double first;  // the first element of its result, whatever became of the variables
};
std::string name_of(const testing::TestParamInfo<Function>& info) { return info.param.name; }
void PrintTo(const Function& one, std::ostream* out) { *out << one.name; }

class OnADevice : public testing::TestWithParam<Function> {};

TEST_P(OnADevice, ArgumentsStayWhateverTheBackendDoesToTheCallersVariables) {
  const std::pair<const char*, void (*)(Own&)> deeds[] = {
      {"undefine", undefine}, {"replace", replace}, {"destroy", destroy}};
  for (const auto& [name, deed] : deeds) {
    for (int when = 1; when < 100; ++when) {
      SCOPED_TRACE(testing::Message() << name << " at step " << when);
      Own own;
      int calls = 0;
      Tensor result;
      {
        const TalkingBackend::Steps steps([&] {
          if (++calls == when) deed(own);
        });
        ASSERT_NO_THROW(result = GetParam().run(own));
      }
      EXPECT_EQ(result.cpu().flatten()[0].item<double>(), GetParam().first);
      EXPECT_GT(calls, 0);
      if (calls < when) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Operators, OnADevice,
    testing::Values(
        Function{"add", [](const Own& own) { return own.a() + own.b(); }, 3},
        Function{"exp_of_zeros",
                 [](const Own& own) {
                   const Tensor none = own.a() * 0.0;
                   return none.exp();
                 },
                 1},
        Function{"mm", [](const Own& own) { return own.a().mm(own.b()); }, 4},
        Function{"linear", [](const Own& own) { return linear(own.a(), own.b(), own.c()[0]); }, 7},
        Function{"linear_without_a_bias", [](const Own& own) { return linear(own.a(), own.b()); },
                 4},
        Function{"sum", [](const Own& own) { return own.c().sum(); }, 12},
        Function{"cat", [](const Own& own) { return cat(own.list); }, 1},
        Function{"stack", [](const Own& own) { return stack(own.list); }, 1},
        Function{"clone", [](const Own& own) { return own.b().clone(); }, 2},
        Function{"contiguous", [](const Own& own) { return own.b().t().contiguous(); }, 2},
        Function{"reshape", [](const Own& own) { return own.b().t().reshape({4}); }, 2},
        Function{"dtype", [](const Own& own) { return own.b().to(float64); }, 2},
        Function{"cpu", [](const Own& own) { return own.b().cpu(); }, 2},
        Function{"to_the_device",
                 [](const Own& own) { return own.here->to(TalkingBackend::device()); }, 7},
        Function{"to_the_device_and_a_dtype",
                 [](const Own& own) {
                   return own.here->to({.dtype = float64, .device = TalkingBackend::device()});
                 },
                 7},
        Function{"copy_in_place",
                 [](const Own& own) {
                   const Tensor mine = own.a();
                   mine.copy_(*own.here);
                   return mine;
                 },
                 7},
        Function{"add_in_place",
                 [](const Own& own) {
                   const Tensor mine = own.a();
                   mine.add_(own.b());
                   return mine;
                 },
                 3},
        Function{"the_gradient_of_a_product",
                 [](const Own& own) {
                   const Tensor leaf = own.a().detach().requires_grad_();
                   (leaf * own.c()).sum().backward();
                   return leaf.grad();
                 },
                 3}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Factories, OnADevice,
    testing::Values(
        Function{"full", [](const Own& own) { return full(*own.size, *own.number, *own.options); },
                 3},
        Function{"scalar_tensor",
                 [](const Own& own) { return scalar_tensor(*own.number, *own.options); }, 3},
        Function{"zeros", [](const Own& own) { return zeros(*own.size, *own.options); }, 0},
        Function{"ones", [](const Own& own) { return ones(*own.size, *own.options); }, 1},
        Function{"eye", [](const Own& own) { return eye(2, *own.options); }, 1},
        Function{"arange", [](const Own& own) { return arange(3, 5, *own.options); }, 3},
        Function{"linspace", [](const Own& own) { return linspace(2, 3, 5, *own.options); }, 2},
        Function{"tensor", [](const Own& own) { return tensor({5, 6}, *own.options); }, 5},
        Function{"tensor_of_rows",
                 [](const Own& own) { return tensor_from(own.list, *own.options); }, 1},
        Function{"bernoulli", [](const Own& own) { return bernoulli(own.a(), 1.0, *own.drawing); },
                 1},
        Function{"empty",
                 [](const Own& own) {
                   const Tensor made = empty(*own.size, *own.empty);
                   return made.fill_(4);
                 },
                 4},
        Function{"empty_strided",
                 [](const Own& own) {
                   const Tensor made = empty_strided(*own.size, {1, 2}, *own.options);
                   return made.fill_(4);
                 },
                 4},
        Function{"full_like",
                 [](const Own& own) { return full_like(*own.here, *own.number, *own.like); }, 3},
        Function{"zeros_like", [](const Own& own) { return zeros_like(own.a()); }, 0},
        Function{"ones_like", [](const Own& own) { return ones_like(*own.here, *own.like); }, 1}),
    name_of);

// An operator of the CPU, and what it is given that the backend brings.
struct Brought {
  Brought() {
    const Device device = TalkingBackend::device();
    positions = tensor({3, -4}).to(device);
    mask = ones({4, 4}, {.dtype = bool_}).to(device);
    values = full({2, 4}, 5.0).to(device);
  }
  Tensor x = ones({4, 4}), positions, mask, values;
};

TEST(OnADevicePositions, AreLookedUpInTheDataThatThereIsAfterTheyHaveCome) {
  const struct {
    const char* name;
    Tensor (*run)(const Brought&);
    double sum;  // of what is returned, where the backend changes nothing
  } operators[] = {
      {"index", [](const Brought& all) { return all.x.index({all.positions}); }, 8},
      {"index of two",
       [](const Brought& all) { return all.x.index({all.positions, all.positions}); }, 2},
      {"index of whole numbers",
       [](const Brought& all) { return all.x.index({Slice(), all.positions.to(int32)}); }, 8},
      {"mask", [](const Brought& all) { return all.x.index({all.mask}); }, 16},
      {"index_put_ of values",
       [](const Brought& all) {
         all.x.index_put_({tensor({1, 0})}, all.values);
         return all.x;
       },
       48},
      {"index_put_",
       [](const Brought& all) {
         all.x.index_put_({all.positions}, all.values);
         return all.x;
       },
       48},
      {"index_put_ of a mask",
       [](const Brought& all) {
         all.x.index_put_({all.mask}, 2.0);
         return all.x;
       },
       32},
  };
  const Tensor small = ones({1, 1}), number = ones({}), whole = ones({4, 4}, {.dtype = int64});
  const Tensor far = full({2, 3}, 99, {.dtype = int64}).to(TalkingBackend::device());
  const Tensor short_mask = ones({1}, {.dtype = bool_}).to(TalkingBackend::device());
  const Tensor few = ones({1}).to(TalkingBackend::device());
  const std::pair<const char*, std::function<void(Brought&)>> deeds[] = {
      {"smaller", [&](Brought& all) { all.x.set_data(small); }},
      {"a number", [&](Brought& all) { all.x.set_data(number); }},
      {"of another dtype", [&](Brought& all) { all.x.set_data(whole); }},
      {"on the device", [&](Brought& all) { swap_tensors(all.x, all.values); }},
      {"other positions", [&](Brought& all) { all.positions.set_data(far); }},
      {"another mask", [&](Brought& all) { all.mask.set_data(short_mask); }},
      {"other values", [&](Brought& all) { all.values.set_data(few); }},
  };
  for (const auto& one : operators) {
    for (const auto& [name, deed] : deeds) {
      int calls = 0;
      for (int when = 1; when < 100; ++when) {
        SCOPED_TRACE(testing::Message() << one.name << ", " << name << " at step " << when);
        Brought all;
        calls = 0;
        Tensor result;
        {
          const TalkingBackend::Steps steps([&] {
            if (++calls == when) deed(all);
          });
          try {
            result = one.run(all);
          } catch (const Error&) {  // what it has now does not fit
            result = Tensor();
          }
        }
        EXPECT_GT(calls, 0);
        if (calls >= when) continue;
        ASSERT_TRUE(result.defined());
        EXPECT_EQ(result.sum().item<double>(), one.sum);
        break;
      }
    }
  }
}

// A layer at work holds the parameters that it calls operators with.
TEST(OnADeviceLayer, AParameterThatAKernelTakesOutIsStillMultiplied) {
  const Device device = TalkingBackend::device();
  for (int when = 1; when < 100; ++when) {
    SCOPED_TRACE(when);
    nn::Linear layer(2, 2);
    layer.to(device);
    for (const Tensor& parameter : layer.parameters()) parameter.detach().fill_(2);
    const Tensor x = ones({1, 2}).to(device);
    int calls = 0;
    Tensor y;
    {
      const TalkingBackend::Steps steps([&] {
        if (++calls != when) return;
        layer.weight = nn::make_parameter(full({2, 2}, 9.0, {.device = device}));
        layer.bias = nn::make_parameter(full({2}, 9.0, {.device = device}));
      });
      ASSERT_NO_THROW(y = layer(x));
    }
    if (calls < when) break;
    // Of the old ones or, before the operator is called, of the new ones; never of freed memory.
    const double first = y.cpu()[0][0].item<double>();
    EXPECT_TRUE(first == 6 || first == 27) << first;
  }
}

TEST(OnADeviceLayer, DestroyingItFromItsKernelIsAnError) {
  const Device device = TalkingBackend::device();
  auto layer = std::make_unique<nn::Linear>(2, 2);
  layer->to(device);
  const Tensor x = ones({1, 2}).to(device);
  const TalkingBackend::Steps steps([&] { layer.reset(); });
  expect_error<Error>([&] { (*layer)(x); }, "was destroyed by user code");
}

TEST(OnADeviceFile, ATensorIsSavedThatTheCopyToTheHostTakesAway) {
  TempDir folder;
  const Device device = TalkingBackend::device();
  for (int when = 1; when < 100; ++when) {
    SCOPED_TRACE(when);
    auto state = std::make_unique<StateDict>();
    for (const char* name : {"a", "b"}) state->set(name, full({3}, 4.0).to(device));
    int calls = 0;
    {
      const TalkingBackend::Steps steps([&] {
        if (++calls == when) state.reset();
      });
      ASSERT_NO_THROW(save(*state, folder.file("out.pth"), {.durable = false, .replace = true}));
    }
    const StateDict back = StateDict(load(folder.file("out.pth"), {.map_location = Device::cpu()}));
    EXPECT_EQ(back.tensor("b")[2].item<double>(), 4.0);
    if (calls < when) break;
  }
}

}  // namespace
}  // namespace tenon
