#include "tenon/load_into.h"

#include <fstream>
#include <stop_token>

#include "support/matchers.h"
#include "support/temp_dir.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Net final : public nn::Layer {
 public:
  nn::Child<nn::Linear> a{this, "a", 8, 8};
  nn::Child<nn::Linear> b{this, "b", 8, 4};
  nn::Buffer count{this, "count", zeros({}, {.dtype = int64})};

 protected:
  Tensor forward(const Tensor& x) override { return b(a(x)); }
};

class LoadInto : public testing::TestWithParam<const char*> {
 protected:
  LoadInto() : file(dir.file(std::string("net") + GetParam())) {
    manual_seed(3);
    source.count->fill_(7);
    save(source.state_dict(), file);
  }
  std::shared_ptr<Net> on_meta() const {
    return with_device("meta", [] { return nn::make<Net>(); });
  }
  void expect_loaded(const Net& net, DType dtype = float32) const {
    for (const auto& [name, parameter] : source.named_parameters()) {
      const Tensor got = net.get_parameter(name);
      EXPECT_EQ(got.dtype(), dtype) << name;
      EXPECT_TRUE(equal(got.detach(), parameter.detach().to(dtype))) << name;
      EXPECT_TRUE(got.is_parameter() && got.requires_grad()) << name;
    }
    EXPECT_EQ(net.count->item<int>(), 7);
    EXPECT_EQ(net.count->dtype(), int64);
  }
  TempDir dir;
  std::string file;
  Net source;
};

INSTANTIATE_TEST_SUITE_P(Formats, LoadInto, testing::Values(".pth", ".safetensors"),
                         [](const auto& format) { return std::string(format.param).substr(1); });

TEST_P(LoadInto, FillsAModuleOnMetaAndKeepsItsTensors) {
  const auto net = on_meta();
  const Tensor weight = net->a->weight;
  const LoadIntoReport report = load_into(*net, file);
  expect_loaded(*net);
  EXPECT_TRUE(net->a->weight.get().is(weight));
  EXPECT_FALSE(weight.is_meta());
  EXPECT_EQ(report.repr(), "<All keys matched successfully>");
  EXPECT_EQ(report.steps.size(), 5u);
}

TEST_P(LoadInto, ConvertsOnTheWay) {
  const auto net = on_meta();
  load_into(*net, file, {.dtype = bfloat16});
  expect_loaded(*net, bfloat16);
}

TEST_P(LoadInto, CopiesIntoMemoryThatIsThere) {
  for (const bool full : {false, true}) {
    Net net;
    const void* data = net.a->weight->data_ptr();
    const std::int64_t version = net.a->weight->version();
    const auto report = load_into(net, file, {.full_staging = full});
    expect_loaded(net);
    EXPECT_EQ(net.a->weight->data_ptr(), data);
    EXPECT_GT(net.a->weight->version(), version);
    EXPECT_EQ(report.bytes_made, 0u);
  }
}

TEST_P(LoadInto, ConvertsIntoTheModulesDtypeAndOrderInMemory) {
  Net net;
  net.to(float64);
  net.a->weight = nn::make_parameter(empty({8, 8}, {.dtype = float64}).t());
  load_into(net, file);
  expect_loaded(net, float64);
  EXPECT_EQ(net.a->weight->stride(0), 1);
}

TEST_P(LoadInto, AssignsTheFilesTensors) {
  Net net;
  net.to(float64);
  const Tensor weight = net.a->weight;
  load_into(net, file, {.assign = true});
  expect_loaded(net);
  EXPECT_FALSE(net.a->weight.get().is(weight));
}

TEST_P(LoadInto, LeavesMappedWhatNeedsNoConversion) {
  const auto net = on_meta();
  const auto before = memory_allocated();
  const auto report = load_into(*net, file, {.mmap = true});
  expect_loaded(*net);
  EXPECT_EQ(report.bytes_read, 0u);
  EXPECT_LE(memory_allocated() - before, 64);
}

TEST_P(LoadInto, SaysWhatItWouldDo) {
  const auto net = on_meta();
  const auto report = load_into(*net, file, {.dtype = bfloat16, .dry_run = true});
  EXPECT_EQ(net->meta_tensors().size(), 5u);
  EXPECT_THAT(report.plan(), HasSubstr("5 tensors, "));
  EXPECT_THAT(report.plan(),
              HasSubstr("a.weight [8, 8] torch.float32 to torch.bfloat16: replaced"));
}

TEST_P(LoadInto, HasABudget) {
  const auto net = on_meta();
  expect_error<ValueError>([&] { load_into(*net, file, {.memory_budget = 100}); }, "bytes would",
                           "budget is 100", ".mmap");
  EXPECT_EQ(net->meta_tensors().size(), 5u);
}

TEST_P(LoadInto, SaysEverythingThatDoesNotFit) {
  class Other final : public nn::Layer {
   public:
    nn::Child<nn::Linear> a{this, "a", 8, 9};
    nn::Child<nn::Linear> c{this, "c", 8, 4};

   protected:
    Tensor forward(const Tensor& x) override { return x; }
  };
  Other net;
  const Tensor before = net.a->weight->clone();
  const std::string message = message_of<LoadError>([&] { load_into(net, file); });
  EXPECT_THAT(message, HasSubstr("Error(s) in loading state_dict for Other:"));
  EXPECT_THAT(message, HasSubstr("Missing key(s) in state_dict: \"c.weight\", \"c.bias\". "));
  EXPECT_THAT(message, HasSubstr("\"b.weight\""));
  EXPECT_THAT(message, HasSubstr("size mismatch for a.weight"));
  EXPECT_TRUE(equal(before, net.a->weight));
}

TEST_P(LoadInto, TellsHowFarItIs) {
  std::uint64_t last = 0, all = 0;
  const auto net = on_meta();
  LoadIntoOptions options{.dtype = bfloat16};
  options.watch.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GE(done, last);
    last = done;
    all = total;
  };
  const auto report = load_into(*net, file, options);
  EXPECT_EQ(last, all);
  EXPECT_EQ(all, report.bytes_read);
}

// A weight may be used, and a copy of it packed, while another part of it is still being read.
TEST_P(LoadInto, IsNoticedByWhatWasMadeOfATensorWhileItWasRead) {
  const NoGradScope inference;
  nn::Linear net(1024, 1024, {.bias = false}), read(1024, 1024, {.bias = false});
  read.weight->copy_(net.weight);
  read.weight->index_put_({1022, 7}, 100.0);  // near the end, and among few that are different
  save(read.state_dict(), file);
  const Tensor x = (arange(70 * 1024) * 0.7).sin().reshape({70, 1024});
  const Tensor expected = read(x);
  LoadIntoOptions options;
  int calls = 0;
  options.watch.progress = [&](std::uint64_t, std::uint64_t) {
    ++calls;
    for (int i = 0; i < 3; ++i) net(x);
  };
  load_into(net, file, options);
  EXPECT_GT(calls, 2);
  EXPECT_TRUE(equal(net(x), expected));
}

TEST_P(LoadInto, StopsWithTheModuleUntouched) {
  std::stop_source stop;
  stop.request_stop();
  Net net;
  const Tensor before = net.a->weight->clone();
  LoadIntoOptions options;
  options.watch.stop = stop.get_token();
  EXPECT_THROW(load_into(net, file, options), CancelledError);
  EXPECT_TRUE(equal(before, net.a->weight));
}

TEST_P(LoadInto, GoesThroughModuleLoadOneTensorAtATime) {
  const auto net = on_meta();
  net->a->weight = nn::make_parameter(make_tensor<ScaledTensor>(net->a->weight, 0.5));
  const Tensor weight = net->a->weight;
  const nn::SwapOnConversionScope swap;
  load_into(*net, file, {.assign = true});
  EXPECT_TRUE(net->a->weight.get().is(weight));
  EXPECT_FALSE(net->b->weight->is_meta());
}

TEST_P(LoadInto, KeepsTies) {
  Net tied;
  tied.b = nn::make<nn::Linear>(8, 8);
  tied.b->weight = tied.a->weight;
  const std::string both = dir.file(std::string("tied") + GetParam());
  save(tied.state_dict(), both);
  for (const bool assign : {false, true}) {
    for (const bool convert : {false, true}) {
      const auto net = on_meta();
      net->b = with_device("meta", [] { return nn::make<nn::Linear>(8, 8); });
      // One tensor in the file, two in the module: they share memory.
      LoadIntoOptions options{.assign = assign};
      if (convert) options.dtype = bfloat16;
      load_into(*net, both, options);
      EXPECT_TRUE(equal(net->b->weight, net->a->weight));
      EXPECT_EQ(net->b->weight->data_ptr(), net->a->weight->data_ptr()) << assign << convert;
      // One in both: it stays one.
      net->b->weight = net->a->weight;
      load_into(*net, both, options);
      EXPECT_TRUE(net->b->weight.get().is(net->a->weight));
    }
  }
}

TEST_P(LoadInto, TakesAPartUnderOtherNames) {
  nn::Linear b(8, 4);
  load_into(b, file,
            {.filter = [](std::string_view name) { return name.starts_with("b."); },
             .rename = KeyMap().strip_prefix("b.")});
  EXPECT_TRUE(equal(b.weight, source.b->weight));
}

TEST_P(LoadInto, ABrokenFileLeavesTheModuleAsItWas) {
  if (std::string(GetParam()) != ".pth") GTEST_SKIP() << "safetensors has no checksums";
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  const Checkpoint opened = Checkpoint::open(file);
  const auto index = opened.find("b.weight");
  bytes.seekp(
      static_cast<std::streamoff>(opened.storages()[opened.tensors()[*index].storage].offset));
  bytes.put('\x55');
  bytes.close();
  Net net;
  const Tensor a = net.a->weight->clone(), b = net.b->weight->clone();
  EXPECT_THROW(load_into(net, file), ChecksumError);
  EXPECT_THROW(load_into(net, file, {.dtype = bfloat16}), ChecksumError);
  EXPECT_TRUE(equal(a, net.a->weight) && equal(b, net.b->weight));
  EXPECT_NO_THROW(load_into(net, file, {.verify = false}));
}

TEST_P(LoadInto, WhatTheModuleHasSeparatelyStaysSeparate) {
  Net tied;
  tied.b = nn::make<nn::Linear>(8, 8);
  tied.b->weight = tied.a->weight;
  const std::string both = dir.file(std::string("tied") + GetParam());
  save(tied.state_dict(), both);
  for (const DType dtype : {float32, float64}) {
    Net net;
    net.b = nn::make<nn::Linear>(8, 8);
    net.to(bfloat16);
    load_into(net, both, {.dtype = dtype});
    EXPECT_TRUE(equal(net.b->weight, net.a->weight));
    EXPECT_NE(net.b->weight->data_ptr(), net.a->weight->data_ptr());
  }
}

TEST_P(LoadInto, TheOrderInMemoryIsTheModulesUnlessItAssigns) {
  nn::ParameterList list({ones({2, 3}), ones({2, 3})});
  StateDict state;
  state.set("0", arange(6).to(float32).view({3, 2}).t());
  state.set("1", ones({1, 1}).expand({2, 3}));
  const std::string strided = dir.file(std::string("strided") + GetParam());
  save(state, strided);
  auto fresh = with_device("meta", [] {
    return nn::make<nn::ParameterList>(std::vector<Tensor>{empty({2, 3}), empty({2, 3})});
  });
  load_into(*fresh, strided);
  EXPECT_TRUE((*fresh)[0].is_contiguous() && (*fresh)[1].is_contiguous());
  EXPECT_EQ((*fresh)[0][1][2].item<int>(), 5);
}

TEST_P(LoadInto, AnAssignedParameterIsRegistered) {
  int seen = 0;
  auto handle = nn::register_module_parameter_registration_hook(
      [&](nn::Module&, const std::string&, const Tensor&) {
        ++seen;
        return Tensor();
      });
  const auto net = on_meta();
  seen = 0;
  load_into(*net, file, {.assign = true});
  handle.remove();
  EXPECT_EQ(seen, 4);
}

TEST_P(LoadInto, OfALargeStorageTakesWhatItWants) {
  const Tensor large = arange(4'000'000).to(float32);
  StateDict state;
  state.set("0", large.narrow(0, 0, 4));
  state.set("1", large.narrow(0, 3'999'990, 4));
  const std::string sliced = dir.file(std::string("sliced") + GetParam());
  save(state, sliced);
  auto list = with_device("meta", [] {
    return nn::make<nn::ParameterList>(std::vector<Tensor>{empty({4}), empty({4})});
  });
  const auto report = load_into(*list, sliced, {.memory_budget = 1 << 16});
  EXPECT_EQ((*list)[1][3].item<int>(), 3'999'993);
  EXPECT_LE((*list)[0].storage().nbytes(), 64u);
  EXPECT_LE(report.peak_bytes, 1u << 16);
}

TEST_P(LoadInto, AUserDefinedTensorThatCannotCopyLeavesTheModuleAsItWas) {
  Net net;
  net.a->weight = nn::make_parameter(make_tensor<ScaledTensor>(net.a->weight, 0.5));
  const Tensor before = net.b->weight->clone();
  const std::string message = message_of<LoadError>([&] { load_into(net, file); });
  EXPECT_THAT(message, HasSubstr("a.weight"));
  EXPECT_TRUE(equal(before, net.b->weight));
}

}  // namespace
}  // namespace tenon
