// What load() does with its options.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "io/files.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/checkpoint.h"

namespace tenon {
namespace {

const std::string kSequence = fixture("torch-2.14.1/seq_sd.pt");
const std::string kTraining = fixture("torch-2.11/train_ckpt.pth");
const std::string kTagged = fixture("torch-2.11/cuda_tagged.pth");

std::vector<std::string> names_of(const StateDict& state) {
  std::vector<std::string> names;
  for (const auto& [name, value] : state) names.push_back(name);
  return names;
}

TEST(Load, AFileThatIsAStateDictBecomesOne) {
  StateDict state = load(kSequence, {.mmap = true});
  EXPECT_GT(state.size(), 2u);
  EXPECT_FALSE(state.metadata().is_none());
  for (auto& [name, tensor] : state.tensors()) EXPECT_TRUE(tensor.defined()) << name;
  // A training checkpoint is a dict of other things.
  const Value training = load(kTraining);
  EXPECT_EQ(training.kind(), Value::Kind::dict);
  EXPECT_TRUE(training.find_path("model.conv1.weight")->is_tensor());
  const StateDict model = *training.find("model");
  EXPECT_TRUE(
      equal(model.tensor("conv1.weight"), training.find_path("model.conv1.weight")->as_tensor()));
}

TEST(Load, OnlyWhatIsUnderAPath) {
  const StateDict model = load(kTraining, {.path = "model"});
  const Value whole = load(kTraining);
  EXPECT_EQ(model.size(), whole.find("model")->entries().size());
  EXPECT_TRUE(
      equal(model.tensor("conv1.weight"), whole.find_path("model.conv1.weight")->as_tensor()));
  EXPECT_TRUE(load(kTraining, {.path = "model.conv1.weight"}).is_tensor());
  expect_error<IndexError>([] { load(kTraining, {.path = "modle"}); }, "modle", "'model'");
}

TEST(Load, OnlyTensorsWhoseNamesAreWanted) {
  const auto weights = [](std::string_view name) { return name.ends_with(".weight"); };
  const StateDict all = load(kSequence), some = load(kSequence, {.filter = weights});
  EXPECT_LT(some.size(), all.size());
  for (const auto& [name, value] : some) {
    EXPECT_TRUE(name.ends_with(".weight"));
    EXPECT_TRUE(equal(value.as_tensor(), all.tensor(name)));
  }
  EXPECT_EQ(load(kSequence, {.filter = [](std::string_view) { return false; }}).entries().size(),
            0u);
  EXPECT_EQ(load(kSequence, {.filter = matching("^[0-9]+\\.weight$")}).entries().size(),
            some.size());
}

TEST(Load, OfWhatIsLeftOutNoByteIsRead) {
  // Bytes of one storage are damaged: a load without its tensor does not see that.
  std::string bytes = TempDir::read(kSequence);
  const Checkpoint whole = Checkpoint::open(kSequence);
  const TensorFacts& first = whole.tensors()[0];
  bytes[whole.storages()[first.storage].offset] ^= 1;
  const Checkpoint file = Checkpoint::open(std::as_bytes(std::span(bytes)));
  EXPECT_THROW(file.load(), ChecksumError);
  const std::int64_t before = memory_allocated();
  const StateDict rest =
      file.load({.filter = [&](std::string_view name) { return name != first.name; }});
  EXPECT_EQ(rest.size(), whole.tensors().size() - 1);
  EXPECT_FALSE(rest.contains(first.name));
  EXPECT_LT(memory_allocated() - before,
            static_cast<std::int64_t>(whole.storages()[first.storage].nbytes) * 100);
}

TEST(Load, ASparseTensorIsAskedAboutAsAWhole) {
  std::vector<std::string> asked;
  const Value state =
      load(fixture("torch-2.14.1/sparse.pt"), {.filter = [&](std::string_view name) {
             asked.emplace_back(name);
             return name == "csr";
           }});
  EXPECT_EQ(asked, (std::vector<std::string>{"coo", "csr"}));
  ASSERT_EQ(state.entries().size(), 1u);
  EXPECT_EQ(state.entries()[0].second.object_name(), "sparse_tensor");
}

TEST(Load, EveryNameOfAnInertModuleLeadsToItsTensor) {
  const Checkpoint file = Checkpoint::open(fixture("torch-2.11/whole_module.pth"), {.inert = true});
  ASSERT_GT(file.tensors().size(), 5u);
  const Value tree = file.load();
  for (const TensorFacts& facts : file.tensors()) {
    const Value* found = tree.find_path(facts.name);
    ASSERT_NE(found, nullptr) << facts.name;
    EXPECT_EQ(found->as_tensor().shape(), facts.shape);
  }
}

TEST(Load, AFilterDoesNotFollowWhatNoTensorIsNamedBy) {
  // Metadata in which every level is there twice: 2^40 of them.
  const Checkpoint file = Checkpoint::open(fixture("odd/metadata_dag.pth"));
  const Value state = file.load({.filter = [](std::string_view name) { return name == "a"; }});
  EXPECT_EQ(state.entries().size(), 1u);
}

TEST(Load, PartsOfOneStorageInAVeryOldFileShareIt) {
  for (const bool mmap : {false, true}) {
    const Value state = load(fixture("odd/legacy_parts.pth"), {.mmap = mmap});
    const Tensor a = state.entries()[0].second.as_tensor(),
                 b = state.entries()[1].second.as_tensor();
    const Tensor before = b.clone();
    a.fill_(99);
    EXPECT_FALSE(equal(before, b));
  }
}

TEST(Load, UnderOtherNames) {
  const StateDict plain = load(kSequence);
  const StateDict renamed = load(
      kSequence, {.rename = KeyMap().add_prefix("module.").rename({{"module.0.weight", "w"}})});
  std::vector<std::string> expected;
  for (const std::string& name : names_of(plain))
    expected.push_back(name == "0.weight" ? "w" : "module." + name);
  EXPECT_EQ(names_of(renamed), expected);
  EXPECT_NE(renamed.metadata().find("module"), nullptr);  // it was ""
  EXPECT_NE(renamed.metadata().find("module.0"), nullptr);

  const StateDict back = load(
      kSequence, {.rename = KeyMap().replace("^(\\d+)\\.", "layers.\\1.").strip_prefix("layers.")});
  EXPECT_EQ(names_of(back), names_of(plain));
  expect_error<ValueError>([] { load(kSequence, {.rename = KeyMap().replace(".*", "same")}); },
                           "'same'", "0.weight");
  expect_error<ValueError>(
      [] {
        load(fixture("torch-2.14.1/opt_sgd.pt"),
             {.path = "opt.param_groups", .rename = KeyMap().add_prefix("x")});
      },
      "list", ".path");
}

TEST(Load, MapLocationIsADeviceAMapOrAFunction) {
  expect_error<DeviceError>([] { load(kTagged); }, "cuda", "map_location");
  EXPECT_NO_THROW(load(kTagged, {.map_location = "cpu"}));
  const Checkpoint file = Checkpoint::open(kTagged);
  const std::string tag = file.tensors()[0].device;
  EXPECT_TRUE(tag.starts_with("cuda"));
  EXPECT_NO_THROW(file.load({.map_location = {{tag, "cpu"}}}));
  expect_error<DeviceError>([&] { file.load({.map_location = {{"xpu:0", "cpu"}}}); }, tag);
  std::vector<std::string> seen;
  const Value meta = file.load({.map_location = [&](std::string_view device) {
    seen.emplace_back(device);
    return std::optional<Device>(Device::meta());
  }});
  EXPECT_EQ(seen.size(), file.storages().size());
  EXPECT_EQ(seen[0], tag);
  EXPECT_TRUE(meta.entries()[0].second.as_tensor().is_meta());
  expect_error<NotImplementedError>([&] { file.load({.map_location = "cuda"}); }, "cuda", "to()");
}

TEST(Load, OnMetaNoByteIsRead) {
  std::string bytes = TempDir::read(kSequence);
  const Checkpoint whole = Checkpoint::open(kSequence);
  for (const StorageFacts& storage : whole.storages()) bytes[storage.offset] ^= 1;
  const Checkpoint file = Checkpoint::open(std::as_bytes(std::span(bytes)));
  EXPECT_THROW(file.load(), ChecksumError);
  const std::int64_t before = memory_allocated();
  const Value state = file.load({.map_location = "meta"});
  EXPECT_EQ(memory_allocated(), before);
  EXPECT_TRUE(state.entries()[0].second.as_tensor().is_meta());
}

TEST(Load, AMappedFileIsComparedOnRequest) {
  const TempDir folder;
  const std::string path = folder.file("damaged.pth");
  std::string bytes = TempDir::read(kSequence);
  const Checkpoint whole = Checkpoint::open(kSequence);
  bytes[whole.storages()[0].offset] ^= 1;
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_NO_THROW(load(path, {.mmap = true}));
  EXPECT_THROW(load(path, {.mmap = true, .verify = true}), ChecksumError);
  EXPECT_THROW(load(path), ChecksumError);
  EXPECT_NO_THROW(load(path, {.verify = false}));
}

TEST(Load, ASharedMappingWritesToTheFile) {
  const TempDir folder;
  const std::string path = folder.file("shared.pth");
  std::filesystem::copy_file(kSequence, path);
  const Checkpoint file = Checkpoint::open(path);
  const std::string name = file.tensors()[0].name;
  {
    const StateDict state = load(path, {.mmap = true, .shared = true});
    state.tensor(name).fill_(42);
  }
  const StateDict again = load(path, {.verify = false});
  EXPECT_EQ(again.tensor(name).flatten()[0].item<double>(), 42);
  expect_error<ValueError>([&] { load(path, {.shared = true}); }, ".mmap");
  if (::geteuid() != 0) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    expect_error<IoError>([&] { load(path, {.mmap = true, .shared = true}); }, ".shared");
  }
}

TEST(Load, MappedTensorsOutliveTheFileAndTheCheckpoint) {
  const TempDir folder;
  const std::string path = folder.file("gone.pth");
  std::filesystem::copy_file(kSequence, path);
  const StateDict eager = load(path);
  Tensor kept;
  {
    const Checkpoint file = Checkpoint::open(path);
    kept = file.load({.mmap = true}).find("0.weight")->as_tensor();
  }
  std::filesystem::remove(path);
  EXPECT_TRUE(equal(kept, eager.tensor("0.weight")));
}

TEST(Load, FromAnOpenFileAtAnOffset) {
  const TempDir folder;
  for (const char* name :
       {"torch-2.14.1/seq_sd.pt", "torch-2.14.1/legacy.pt", "torch-2.11/net.safetensors"}) {
    const std::string path = folder.file("behind_a_header");
    std::ofstream(path, std::ios::binary) << "HEADER" << TempDir::read(fixture(name));
    const int descriptor = ::open(path.c_str(), O_RDONLY);
    ASSERT_GE(descriptor, 0);
    const Checkpoint file = Checkpoint::open(descriptor, 6);
    ::close(descriptor);
    const StateDict known = load(fixture(name));
    for (const bool mmap : {false, true}) {
      const StateDict state = file.load({.mmap = mmap});
      ASSERT_EQ(names_of(state), names_of(known));
      for (const auto& [key, value] : known) {
        if (!value.is_tensor()) continue;
        // Behind six bytes nothing lies where its elements may: it is copied.
        const auto address = reinterpret_cast<std::uintptr_t>(state.tensor(key).data_ptr());
        EXPECT_EQ(address % static_cast<std::uintptr_t>(itemsize(value.as_tensor().dtype())), 0u);
        EXPECT_TRUE(equal(state.tensor(key), value.as_tensor())) << name;
      }
    }
  }
  expect_error<IoError>([] { Checkpoint::open(-1, 0); }, "descriptor");
}

TEST(Load, AFileThatShrinksIsAnErrorAndNotASignal) {
  const TempDir folder;
  const std::string path = folder.file("shrinks.pth");
  std::filesystem::copy_file(kSequence, path);
  const Checkpoint file = Checkpoint::open(path);
  std::filesystem::resize_file(path, 100);
  expect_error<FormatError>([&] { file.load(); }, "changed");
  expect_error<FormatError>([&] { file.load({.mmap = true}); }, "changed");
  expect_error<FormatError>([&] { file.load({.mmap = true, .verify = true}); }, "changed");
  expect_error<FormatError>([&] { file.verify(); }, "changed");
  expect_error<FormatError>([&] { file.read(0, [](std::span<const std::byte>) {}); }, "changed");
}

TEST(Load, WhatCannotLieInTheFileIsCopiedAndToldSo) {
  for (const char* name : {"torch-2.14.1/deflated.pth", "torch-2.14.1/bigendian.pth"}) {
    const Checkpoint file = Checkpoint::open(fixture(name));
    ASSERT_FALSE(file.storages().empty());
    for (const StorageFacts& storage : file.storages()) EXPECT_FALSE(storage.mappable) << name;
    const Value eager = file.load(), mapped = file.load({.mmap = true});
    for (std::size_t i = 0; i < eager.entries().size(); ++i) {
      if (!eager.entries()[i].second.is_tensor()) continue;
      EXPECT_TRUE(
          equal(eager.entries()[i].second.as_tensor(), mapped.entries()[i].second.as_tensor()));
    }
  }
  const Checkpoint file = Checkpoint::open(kSequence);
  for (const StorageFacts& storage : file.storages()) EXPECT_TRUE(storage.mappable);
}

TEST(Load, StopsOnRequestAndTellsHowFarItIs) {
  std::stop_source stop;
  stop.request_stop();
  LoadOptions options;
  options.watch.stop = stop.get_token();
  EXPECT_THROW(load(kSequence, options), CancelledError);
  std::uint64_t done = 0, total = 0;
  options.watch = {};
  options.watch.progress = [&](std::uint64_t a, std::uint64_t b) {
    done = a;
    total = b;
  };
  load(kSequence, options);
  EXPECT_GT(total, 0u);
  EXPECT_EQ(done, total);
}

TEST(Checkpoint, FindsTensorsByName) {
  const Checkpoint file = Checkpoint::open(kTraining);
  const auto place = file.find("model.conv1.weight");
  ASSERT_TRUE(place);
  EXPECT_EQ(file.tensors()[*place].name, "model.conv1.weight");
  EXPECT_FALSE(file.find("model.conv1"));
}

TEST(Checkpoint, SaysWhatTheFileSaysAboutItself) {
  const auto facts = Checkpoint::open(kSequence).facts();
  EXPECT_NE(
      std::find(facts.begin(), facts.end(), std::pair<std::string, std::string>("version", "3")),
      facts.end());
  EXPECT_NE(std::find(facts.begin(), facts.end(),
                      std::pair<std::string, std::string>("byteorder", "little")),
            facts.end());
}

}  // namespace
}  // namespace tenon
