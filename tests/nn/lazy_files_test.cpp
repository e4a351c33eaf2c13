// Files with state dicts of lazy modules, and loading networks from files that know their shapes.
// tests/record/lazy.py has PyTorch write some.
#include <filesystem>

#include "core/uninitialized.h"
#include "nn/lazy_networks.h"
#include "support/archive_id.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kFixtures = TENON_SOURCE_DIR "/tests/nn/fixtures/";

// The devices of what has no shape in a file.
std::vector<std::string> devices_in(const std::string& path) {
  const Checkpoint file = Checkpoint::open(path);
  std::vector<std::string> devices;
  for (const UninitializedFacts& facts : file.uninitialized()) devices.push_back(facts.device);
  return devices;
}

TEST(LazyFiles, AreWhatPyTorchWrites) {
  const TempDir dir;
  LazyMLP net;
  save(net.state_dict(), dir.file("lazy_mlp.pth"));
  EXPECT_TRUE(without_id(TempDir::read(dir.file("lazy_mlp.pth"))) ==
              without_id(TempDir::read(kFixtures + "lazy_mlp.pth")));
}

TEST(LazyFiles, OfPyTorchAreRead) {
  const StateDict state(load(kFixtures + "lazy_mlp.pth"));
  EXPECT_EQ(state.repr(), LazyMLP().state_dict().repr());
  LazyMLP net, full;
  net.load_state_dict(state);
  EXPECT_EQ(net.fc1->type_name(), "LazyLinear");
  full(ones({2, 3}));
  expect_error<LoadError>([&] { full.load_state_dict(state); }, "shape of an uninitialized");
  const Value both = load(kFixtures + "lazy_states.pth");
  const Value& norm = *both.find("norm");
  EXPECT_EQ(norm.find("running_var")->repr(), "<UninitializedBuffer>");
  EXPECT_EQ(norm.find("num_batches_tracked")->repr(), "tensor(0)");
  LazyBatchNorm1d layer;
  EXPECT_TRUE(layer.load_state_dict(StateDict(norm)).empty());
  EXPECT_FALSE(both.find("frozen")->find("weight")->as_tensor().requires_grad());
  EXPECT_TRUE(both.find("frozen")->find("bias")->as_tensor().requires_grad());
}

TEST(LazyFiles, AreReadInPart) {
  const Value part =
      load(kFixtures + "lazy_states.pth", {.path = "norm", .filter = [](std::string_view name) {
                                             return name == "bias" || name == "num_batches_tracked";
                                           }});
  EXPECT_EQ(part.repr(),
            "OrderedDict({'bias': <UninitializedParameter>, 'num_batches_tracked': tensor(0)})");
  const Value one = load(kFixtures + "lazy_mlp.pth",
                         {.filter = [](std::string_view name) { return name == "fc2.bias"; }});
  EXPECT_EQ(one.repr(), "OrderedDict({'fc2.bias': <UninitializedParameter>})");
}

TEST(LazyFiles, KeepDtypeAndDevice) {
  const TempDir dir;
  LazyLinear net(4);
  net.bfloat16();
  net.weight->requires_grad_(false);
  const auto meta = with_device("meta", [] { return make<LazyBatchNorm1d>(); });
  StateDict state = net.state_dict();
  state.set("mean", meta->running_mean.get());
  save(state, dir.file("net.pth"));
  const Value read = load(dir.file("net.pth"));
  const Tensor weight = read.find("weight")->as_tensor(), mean = read.find("mean")->as_tensor();
  EXPECT_TRUE(is_lazy(weight));
  EXPECT_TRUE(weight.is_parameter());
  EXPECT_EQ(weight.dtype(), bfloat16);
  EXPECT_FALSE(weight.requires_grad());
  EXPECT_TRUE(is_lazy(mean));
  EXPECT_FALSE(mean.is_parameter());
  EXPECT_TRUE(mean.is_meta());
  // One object is one object again, and compacting passes it by.
  state.set("again", net.weight.get());
  save(state, dir.file("twice.pth"), {.compact = true});
  const Value twice = load(dir.file("twice.pth"), {.mmap = true});
  EXPECT_TRUE(twice.find("again")->as_tensor().is(twice.find("weight")->as_tensor()));
}

TEST(LazyFiles, InSafetensorsThereIsNoWordForThem) {
  const TempDir dir;
  expect_error<ValueError>(
      [&] { save(LazyMLP().state_dict(), dir.file("net.safetensors")); },
      "an UninitializedParameter has no shape yet, and safetensors holds none");
  EXPECT_THROW(save(LazyMLP().state_dict(), dir.file("shards"), {.shard_size = 1000}), ValueError);
}

TEST(LazyFiles, ACheckpointListsApartWhatHasNoShape) {
  const Checkpoint file = Checkpoint::open(kFixtures + "lazy_states.pth");
  ASSERT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.tensors()[0].name, "norm.num_batches_tracked");
  EXPECT_EQ(file.tree().find_path("frozen.bias")->repr(), "<UninitializedParameter>");
  std::vector<std::string> listed;
  for (const UninitializedFacts& facts : file.uninitialized()) {
    listed.push_back(facts.name + (facts.parameter ? " parameter" : "") +
                     (facts.requires_grad ? " grad " : " ") + facts.device);
    EXPECT_EQ(facts.dtype, float32);
    EXPECT_EQ(file.find(facts.name), std::nullopt);
  }
  EXPECT_THAT(listed, ElementsAre("norm.weight parameter grad cpu", "norm.bias parameter grad cpu",
                                  "norm.running_mean cpu", "norm.running_var cpu",
                                  "frozen.weight parameter cpu", "frozen.bias parameter grad cpu"));
}

TEST(LazyFiles, AreLoadedToWhereMapLocationSays) {
  const TempDir dir;
  StateDict state = LazyLinear(4).state_dict();
  save(state, dir.file("net.pth"));
  for (const bool chosen : {false, true}) {
    LoadOptions options{.map_location = "meta"};
    if (chosen) options.filter = [](std::string_view name) { return name == "weight"; };
    const Value value = load(dir.file("net.pth"), options);
    EXPECT_TRUE(value.find("weight")->as_tensor().is_meta());
    EXPECT_TRUE(is_lazy(value.find("weight")->as_tensor()));
  }
  // As of other tensors, what was on a device that is not here has to be told where to go.
  state.set("weight", make_uninitialized(bfloat16, "cuda:1", true, true));
  save(state, dir.file("gpu.pth"));
  EXPECT_THAT(devices_in(dir.file("gpu.pth")), ElementsAre("cuda:1", "cpu"));
  expect_error<DeviceError>([&] { load(dir.file("gpu.pth")); },
                            "gpu.pth: an uninitialised parameter was on cuda:1, which cannot be "
                            "restored here: load it with .map_location = \"cpu\"");
  // Unless it is not asked for.
  const auto bias = [](std::string_view name) { return name == "bias"; };
  EXPECT_EQ(load(dir.file("gpu.pth"), {.filter = bias}).repr(),
            "OrderedDict({'bias': <UninitializedParameter>})");
  EXPECT_THROW(load(dir.file("gpu.pth"), {.filter = [](std::string_view) { return true; }}),
               DeviceError);
  save(Value::dict(
           {{Value("here"), Value(LazyLinear(4).state_dict())}, {Value("there"), Value(state)}}),
       dir.file("both.pth"));
  EXPECT_EQ(StateDict(load(dir.file("both.pth"), {.path = "here"})).repr(),
            LazyLinear(4).state_dict().repr());
  EXPECT_THROW(load(dir.file("both.pth"), {.path = "there"}), DeviceError);
  const Value moved = load(dir.file("gpu.pth"), {.map_location = {{"cuda:1", "cpu"}}});
  EXPECT_TRUE(moved.find("weight")->as_tensor().is_cpu());
  EXPECT_EQ(moved.find("weight")->as_tensor().dtype(), bfloat16);
  // From file to file nothing is moved.
  convert(dir.file("gpu.pth"), dir.file("copy.pth"));
  EXPECT_THAT(devices_in(dir.file("copy.pth")), ElementsAre("cuda:1", "cpu"));
}

TEST(LazyFiles, AreConvertedToAnotherDtypeAndOtherNames) {
  const TempDir dir;
  LazyLinear net(4);
  StateDict state = net.state_dict();
  state.set("tied", net.weight.get());
  state.set("full", rand({3}));
  save(state, dir.file("net.pth"));
  ConvertOptions options{.dtype = bfloat16, .dtype_for = {{"bias", float16}}};
  options.rename.add_prefix("net.");
  const ConvertReport report = convert(dir.file("net.pth"), dir.file("small.pth"), options);
  ASSERT_EQ(report.tensors.size(), 4u);
  EXPECT_EQ(report.tensors[1].new_name, "net.bias");
  EXPECT_EQ(report.tensors[1].new_dtype, float16);
  EXPECT_TRUE(report.tensors[1].uninitialized);
  EXPECT_EQ(report.tensors[1].bytes, 0u);
  EXPECT_FALSE(report.tensors[3].uninitialized);
  const Value small = load(dir.file("small.pth"));
  const Tensor weight = small.find("net.weight")->as_tensor();
  EXPECT_EQ(weight.dtype(), bfloat16);
  EXPECT_TRUE(is_lazy(weight));
  EXPECT_TRUE(weight.requires_grad());
  EXPECT_TRUE(small.find("net.tied")->as_tensor().is(weight));
  EXPECT_EQ(small.find("net.bias")->as_tensor().dtype(), float16);
  options.dtype_for = {{"tied", float16}};
  expect_error<ValueError>(
      [&] { convert(dir.file("net.pth"), dir.file("never.pth"), options); },
      "convert: tied would be float16 and weight, which shares its memory, bfloat16");
  EXPECT_FALSE(std::filesystem::exists(dir.file("never.pth")));
}

TEST(LazyFiles, WithANameTwiceAreRefused) {
  const TempDir dir;
  const Tensor open = uninitialized_parameter();
  const Value inside = Value::dict({{Value("b"), Value(zeros({2}))}});
  save(Value::dict({{Value("a.b"), Value(open)}, {Value("a"), inside}}), dir.file("one.pth"));
  const Value another = Value::dict({{Value("b"), Value(uninitialized_parameter())}});
  save(Value::dict({{Value("a.b"), Value(open)}, {Value("a"), another}}), dir.file("both.pth"));
  for (const char* name : {"one.pth", "both.pth"})
    expect_error<FormatError>([&] { Checkpoint::open(dir.file(name)); },
                              "two tensors are named 'a.b'");
}

TEST(LazyFiles, ThatRequireGradAreNotConvertedToIntegers) {
  const TempDir dir;
  StateDict state = LazyLinear(4).state_dict();
  state.set("full", make_parameter(ones({2})));
  save(state, dir.file("net.pth"));
  for (const char* name : {"weight", "full"}) {
    expect_error<ValueError>(
        [&] {
          convert(dir.file("net.pth"), dir.file("never.pth"), {.dtype_for = {{name, int64}}});
        },
        std::string("convert: ") + name + " requires grad, which tensors of int64 cannot");
  }
  EXPECT_FALSE(std::filesystem::exists(dir.file("never.pth")));
}

TEST(LazyFiles, AreWrittenAsSeveral) {
  const TempDir dir;
  LazyLinear net(4);
  StateDict state = net.state_dict();
  state.set("first", rand({300}));
  state.set("second", rand({300}));
  state.set("tied", net.weight.get());
  const SaveReport report =
      save(state, dir.file("shards"), {.format = FileFormat::pth, .shard_size = 1300});
  EXPECT_EQ(report.files.size(), 3u);
  const Value read = load(dir.file("shards"));
  EXPECT_TRUE(is_lazy(read.find("bias")->as_tensor()));
  EXPECT_TRUE(read.find("tied")->as_tensor().is(read.find("weight")->as_tensor()));
  EXPECT_TRUE(equal(read.find("second")->as_tensor(), state.at("second").as_tensor()));
  EXPECT_EQ(devices_in(dir.file("shards")).size(), 3u);
}

TEST(LazyFiles, ThatMakeNoSenseAreRefused) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFixtures + "lazy_refused")) {
    SCOPED_TRACE(entry.path().filename());
    EXPECT_THROW(load(entry.path().string()), FormatError);
    EXPECT_THROW(Checkpoint::open(entry.path().string()), FormatError);
    ++files;
  }
  EXPECT_EQ(files, 7);
}

TEST(LazyLoadInto, ShapesAndFillsTheWholeNetworkWithoutADryRun) {
  const TempDir dir;
  LazyMixed from;
  from(rand({2, 3, 8, 8}));
  from.eval();
  const Tensor x = rand({2, 3, 8, 8}), wanted = from(x);
  for (const char* name : {"net.pth", "net.safetensors"}) {
    save(from.state_dict(), dir.file(name));
    for (const bool mmap : {false, true}) {
      for (const bool assign : {false, true}) {
        SCOPED_TRACE(testing::Message() << name << " mmap " << mmap << " assign " << assign);
        LazyMixed net;
        const Tensor weight = net.conv->weight;
        const auto report = load_into(net, dir.file(name), {.assign = assign, .mmap = mmap});
        EXPECT_TRUE(report.empty());
        EXPECT_EQ(net.repr(), from.repr());
        EXPECT_EQ(net.conv->weight.get().is(weight), !assign);
        EXPECT_TRUE(net.conv->weight->requires_grad());
        EXPECT_TRUE(equal(net.eval()(x), wanted));
      }
    }
  }
  const auto net = with_device("meta", [] { return make<LazyMixed>(); });
  load_into(*net, dir.file("net.pth"));
  EXPECT_TRUE(net->meta_tensors().empty());
  net->eval();
  EXPECT_TRUE(equal((*net)(x), wanted));
}

TEST(LazyLoadInto, ConvertsOnTheWayAndSaysBeforehandWhatItDoes) {
  const TempDir dir;
  LazyMLP from;
  from(ones({2, 3}));
  save(from.state_dict(), dir.file("net.pth"));
  LazyMLP net;
  const auto plan = load_into(net, dir.file("net.pth"), {.dry_run = true});
  EXPECT_EQ(plan.steps.size(), 4u);
  EXPECT_EQ(plan.steps[0].shape, Shape({10, 3}));
  EXPECT_THAT(plan.plan(), HasSubstr("fc1.weight"));
  EXPECT_TRUE(is_lazy(net.fc1->weight));
  load_into(net, dir.file("net.pth"), {.dtype = bfloat16});
  EXPECT_EQ(net.fc1->weight->dtype(), bfloat16);
  EXPECT_TRUE(equal(net.fc1->weight, from.fc1->weight->to(bfloat16)));
  LazyMLP other;
  other.half();
  load_into(other, dir.file("net.pth"));
  EXPECT_EQ(other.fc1->weight->dtype(), float16);
  EXPECT_EQ(other.repr(), from.repr());
}

TEST(LazyLoadInto, RefusesWhatDoesNotFitAndLeavesItLazy) {
  const TempDir dir;
  save(Linear(3, 9).state_dict(), dir.file("net.pth"));
  LazyLinear net(4);
  expect_error<LoadError>([&] { load_into(net, dir.file("net.pth")); }, "size mismatch for weight",
                          "torch.Size([4, 3])");
  EXPECT_TRUE(is_lazy(net.weight));
  const auto report = load_into(net, dir.file("net.pth"), {.skip_mismatched = true});
  EXPECT_EQ(report.mismatched.size(), 2u);
  EXPECT_TRUE(is_lazy(net.weight));
  // A file without shapes gives none.
  LazyMLP mlp;
  EXPECT_TRUE(load_into(mlp, kFixtures + "lazy_mlp.pth").empty());
  EXPECT_TRUE(is_lazy(mlp.fc1->weight));
  LazyMLP full;
  full(ones({2, 3}));
  expect_error<LoadError>([&] { load_into(full, kFixtures + "lazy_mlp.pth"); },
                          "shape of an uninitialized");
}

}  // namespace
}  // namespace tenon::nn
