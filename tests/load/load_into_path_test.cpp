// load_into of a part of a file, which .path chooses: names are looked for below the path, and not
// from the top, where path and name together may lead elsewhere.
#include <ostream>
#include <string>
#include <vector>

#include "support/matchers.h"
#include "support/temp_dir.h"
#include "support/wrappers.h"
#include "tenon/extend.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

struct Case {
  const char* name;
  const char* path;
  // The file, with this state dict at the path.
  Value (*file)(const Value& state);
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

Value dict(const char* key, const Value& value) { return Value::dict({{key, value}}); }

// What leads elsewhere: "a" and then "b.weight" is here, and "a.b" and then "weight" is no tensor.
const Case kCases[] = {
    {"Plain", "model", [](const Value& state) { return dict("model", state); }},
    {"Deep", "run.model", [](const Value& state) { return dict("run", dict("model", state)); }},
    {"DottedKey", "run.model", [](const Value& state) { return dict("run.model", state); }},
    {"EmptyPartLast", "a.", [](const Value& state) { return dict("a", dict("", state)); }},
    {"EmptyPartFirst", ".a", [](const Value& state) { return dict("", dict("a", state)); }},
    {"EmptyPartBetween", "a..b",
     [](const Value& state) { return dict("a", dict("", dict("b", state))); }},
    {"Item", "all.1",
     [](const Value& state) { return dict("all", Value::list({Value::dict({}), state})); }},
    {"Number", "all.3", [](const Value& state) { return dict("all", Value::dict({{3, state}})); }},
    {"LeadsElsewhere", "a",
     [](const Value& state) {
       return Value::dict({{"a", state},
                           {"a.b", Value::dict({{"weight", 5}, {"bias", "text"}, {"", 5}})},
                           {"a.", Value::dict({{"weight", 5}, {"b.weight", 5}})}});
     }},
    {"LeadsElsewhereWithAnEmptyPart", "a.",
     [](const Value& state) {
       return Value::dict(
           {{"a", dict("", state)}, {"a..b", Value::dict({{"weight", 5}, {"bias", "text"}})}});
     }},
};

// Parameters whose names have dots and empty parts.
class Net final : public nn::Layer {
 public:
  nn::Child<nn::Linear> b{this, "b", 4, 3};
  nn::Child<nn::Linear> c{this, "c", 3, 2};

 protected:
  Tensor forward(const Tensor& x) override { return c(b(x)); }
};

class LoadIntoPath : public testing::TestWithParam<Case> {
 protected:
  LoadIntoPath() : file(dir.file("run.pth")) { manual_seed(3); }
  void write(const StateDict& state) const {
    save(GetParam().file(Value::dict(entries_of(state))), file);
  }
  static std::vector<Value::Entry> entries_of(const StateDict& state) {
    std::vector<Value::Entry> all;
    for (const auto& [name, value] : state) all.emplace_back(name, value);
    return all;
  }
  TempDir dir;
  std::string file;
};

INSTANTIATE_TEST_SUITE_P(All, LoadIntoPath, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(LoadIntoPath, TakesWhatIsBelowIt) {
  Net source;
  write(source.state_dict());
  const StateDict expected = source.state_dict();
  for (const bool mmap : {false, true}) {
    for (const bool assign : {false, true}) {
      for (const bool on_meta : {false, true}) {
        for (const bool convert : {false, true}) {
          const auto net = with_device(on_meta ? "meta" : "cpu", [] { return nn::make<Net>(); });
          LoadIntoOptions options{.assign = assign, .mmap = mmap, .path = GetParam().path};
          if (convert) options.dtype = float64;
          const LoadIntoReport report = load_into(*net, file, options);
          EXPECT_TRUE(report.empty());
          for (const auto& [name, value] : net->state_dict()) {
            EXPECT_TRUE(
                equal(value.as_tensor(), expected.tensor(name).to(value.as_tensor().dtype())))
                << name << mmap << assign << on_meta << convert;
          }
        }
      }
    }
  }
}

// Tensors over one storage, which are loaded together.
TEST_P(LoadIntoPath, TakesTensorsThatShareAStorage) {
  const Tensor flat = arange(6.0);
  StateDict state;
  state.set("0", flat.narrow(0, 0, 4));
  state.set("1", flat.narrow(0, 2, 4));
  write(state);
  for (const bool mmap : {false, true}) {
    const auto list = with_device("meta", [] {
      return nn::make<nn::ParameterList>(std::vector<Tensor>{empty({4}), empty({4})});
    });
    load_into(*list, file, {.assign = true, .mmap = mmap, .path = GetParam().path});
    EXPECT_TRUE(equal((*list)[0].detach(), flat.narrow(0, 0, 4)));
    EXPECT_TRUE(equal((*list)[1].detach(), flat.narrow(0, 2, 4)));
    EXPECT_EQ((*list)[0].storage().identity(), (*list)[1].storage().identity());
  }
}

// A file says how it is put together again.
void register_scaled() {
  static const bool registered = [] {
    register_unflatten("ScaledTensor", [](const Flattened& parts, const Layout&) {
      return make_tensor<ScaledTensor>(parts.tensors.at(0).second, parts.context.as_real());
    });
    return true;
  }();
  (void)registered;
}

TEST_P(LoadIntoPath, TakesUserDefinedTensors) {
  register_scaled();
  Net source;
  const auto scaled = [](const Tensor& tensor, double by) {
    return nn::make_parameter(make_tensor<ScaledTensor>(tensor.detach(), by));
  };
  source.b->weight = scaled(source.b->weight, 0.5);
  source.c->bias = scaled(source.c->bias, 0.25);
  write(source.state_dict());
  for (const bool mmap : {false, true}) {
    const auto net = nn::make<Net>();
    const LoadIntoReport report =
        load_into(*net, file, {.assign = true, .mmap = mmap, .path = GetParam().path});
    EXPECT_TRUE(report.empty());
    const auto* weight = net->b->weight->as<ScaledTensor>();
    const auto* bias = net->c->bias->as<ScaledTensor>();
    ASSERT_NE(weight, nullptr);
    ASSERT_NE(bias, nullptr);
    EXPECT_TRUE(equal(weight->elem, source.b->weight->as<ScaledTensor>()->elem));
    EXPECT_TRUE(equal(net->b->bias->detach(), source.b->bias->detach()));
  }
}

TEST_P(LoadIntoPath, TakesWhatTheFilterAndTheRenamingLeave) {
  Net source;
  write(source.state_dict());
  nn::Linear b(4, 3);
  std::vector<std::string> asked;
  load_into(b, file,
            {.path = GetParam().path,
             .filter =
                 [&](std::string_view name) {
                   asked.emplace_back(name);
                   return name.starts_with("b.");
                 },
             .rename = KeyMap().strip_prefix("b.")});
  EXPECT_TRUE(equal(b.weight->detach(), source.b->weight->detach()));
  EXPECT_THAT(asked, testing::ElementsAre("b.weight", "b.bias", "c.weight", "c.bias"));
}

}  // namespace
}  // namespace tenon
