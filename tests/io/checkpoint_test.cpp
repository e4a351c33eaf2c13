#include "tenon/checkpoint.h"

#include <filesystem>

#include "io/files.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/save.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

const std::string kLinear = fixture("torch-2.14.1/linear_sd.pth");

TEST(Checkpoint, AStateDictIsADictOfTensorsWithItsMetadata) {
  const Value state = load(kLinear);
  ASSERT_EQ(state.entries().size(), 2u);
  EXPECT_EQ(state.entries()[0].first.as_string(), "weight");
  EXPECT_EQ(state.find("weight")->as_tensor().shape(), Shape({2, 3}));
  EXPECT_NEAR(state.find("bias")->as_tensor()[1].item<double>(), 0.4577, 1e-4);
  const Value metadata = *state.attributes().find("_metadata");
  EXPECT_EQ(metadata.find("")->find("version")->as_int(), 1);
}

TEST(Checkpoint, MappedTensorsAreTheSameAndTheirOwnWritesStayTheirs) {
  const std::string before = TempDir::read(kLinear);
  const Tensor eager = load(kLinear).find("weight")->as_tensor();
  const Tensor mapped = load(kLinear, {.mmap = true}).find("weight")->as_tensor();
  EXPECT_TRUE(equal(eager, mapped));
  mapped.fill_(7);
  EXPECT_EQ(mapped[0][0].item<int>(), 7);
  EXPECT_EQ(TempDir::read(kLinear), before);
  const std::int64_t owned = memory_allocated();
  const Value again = load(kLinear, {.mmap = true});
  EXPECT_EQ(memory_allocated(), owned);  // no byte of its own
}

TEST(Checkpoint, OpeningTellsEverythingAndReadsNoData) {
  const Checkpoint file = Checkpoint::open(fixture("torch-2.14.1/views.pt"));
  ASSERT_FALSE(file.tensors().empty());
  EXPECT_TRUE(file.has_checksums());
  bool shared = false;
  for (const TensorFacts& a : file.tensors()) {
    for (const TensorFacts& b : file.tensors())
      shared = shared || (&a != &b && a.storage == b.storage);
  }
  EXPECT_TRUE(shared);
  EXPECT_TRUE(file.tree().kind() == Value::Kind::dict || file.tree().kind() == Value::Kind::list);
}

TEST(Checkpoint, ViewsOfOneStorageStayViewsOfOne) {
  const Checkpoint file = Checkpoint::open(fixture("torch-2.14.1/views.pt"));
  const Value state = file.load();
  std::map<std::uint32_t, Storage> seen;
  for (const TensorFacts& facts : file.tensors()) {
    const Value* value = state.find(Value(facts.name));
    if (value == nullptr || !value->is_tensor()) continue;
    const auto [place, fresh] = seen.try_emplace(facts.storage, value->as_tensor().storage());
    EXPECT_TRUE(place->second.is(value->as_tensor().storage())) << facts.name;
  }
}

TEST(Checkpoint, OtherByteOrdersAndDeflatedRecordsGiveTheSameTensors) {
  for (const char* name : {"bigendian.pth", "deflated.pth", "nobyteorder.pt"}) {
    for (const bool mmap : {false, true}) {
      const Value state = load(fixture(std::string("torch-2.14.1/") + name), {.mmap = mmap});
      EXPECT_NE(state.kind(), Value::Kind::none) << name;
    }
  }
  const Checkpoint file = Checkpoint::open(fixture("torch-2.14.1/deflated.pth"));
  EXPECT_FALSE(file.storages()[0].mappable);
}

TEST(Checkpoint, MapLocationDecidesWhereTensorsAre) {
  const std::string cuda = fixture("torch-2.11/cuda_tagged.pth");
  expect_error<DeviceError>([&] { load(cuda); }, "cuda:0", "map_location");
  EXPECT_TRUE(load(cuda, {.map_location = Device::cpu()}).find("a")->as_tensor().is_cpu());
  const Tensor meta = load(kLinear, {.map_location = Device::meta()}).find("weight")->as_tensor();
  EXPECT_TRUE(meta.is_meta());
  EXPECT_EQ(meta.shape(), Shape({2, 3}));
}

TEST(Checkpoint, ParametersAndObjects) {
  const Checkpoint parameters = Checkpoint::open(fixture("torch-2.14.1/params.pt"));
  EXPECT_TRUE(std::any_of(parameters.tensors().begin(), parameters.tensors().end(),
                          [](const TensorFacts& t) { return t.parameter && t.requires_grad; }));
  const std::string module = fixture("torch-2.11/whole_module.pth");
  expect_error<FormatError>([&] { load(module); }, "pickled object", "inert");
  const Value inert = load(module, {.inert = true});
  EXPECT_EQ(inert.kind(), Value::Kind::object);
  expect_error<FormatError>([] { load(fixture("torch-2.11/script.pt")); }, "TorchScript", "inert");
}

TEST(Checkpoint, FoldersAndIndexFilesAreOneCheckpoint) {
  const Value whole = load(fixture("torch-2.11"));
  EXPECT_EQ(whole.entries().size(), 18u);
  const Value mapped = load(fixture("torch-2.11/model.safetensors.index.json"), {.mmap = true});
  for (const auto& [key, value] : whole.entries())
    EXPECT_TRUE(equal(value.as_tensor(), mapped.find(key)->as_tensor()));
  expect_error<FormatError>([] { load(fixture("")); }, "folder without");
  expect_error<IoError>([] { load("/nowhere/at.all"); }, "No such file");
}

// What transformers takes of a folder: safetensors before .bin, and a whole file before an index.
TEST(Checkpoint, SafetensorsAreTakenBeforeOtherFilesOfAFolder) {
  const TempDir folder;
  const auto state = [](int fill) {
    return Value::dict({{"a", full({100}, fill)}, {"b", full({100}, fill)}});
  };
  const auto found = [&] { return load(folder.file("")).find("a")->as_tensor()[0].item<double>(); };
  save(state(1), folder.file("pytorch_model.bin"), {.format = FileFormat::pth});
  EXPECT_EQ(found(), 1);
  fs::remove(folder.file("pytorch_model.bin"));
  save(state(2), folder.file(""), {.format = FileFormat::pth, .shard_size = 800});
  EXPECT_EQ(found(), 2);
  save(state(3), folder.file("model.safetensors"));
  EXPECT_EQ(found(), 3);
  fs::remove(folder.file("model.safetensors"));
  save(state(4), folder.file(""), {.format = FileFormat::safetensors, .shard_size = 800});
  EXPECT_EQ(found(), 4);
}

// As transformers does, which looks for the whole file first.
TEST(Checkpoint, AWholeFileIsTakenBeforeAnIndexBesideIt) {
  for (const FileFormat format : {FileFormat::safetensors, FileFormat::pth}) {
    const TempDir folder;
    const std::string whole = format == FileFormat::pth ? "pytorch_model.bin" : "model.safetensors";
    const std::string index = whole + ".index.json";
    const Value state = Value::dict({{"a", full({100}, 1)}, {"b", full({100}, 2)}});
    save(state, folder.file(""), {.format = format, .shard_size = 800});
    save(Value::dict({{"a", full({100}, 3)}, {"b", full({100}, 4)}}), folder.file(whole),
         {.format = format});
    for (const char* name : {"", "."})
      EXPECT_EQ(load(folder.file(name)).find("a")->as_tensor()[0].item<double>(), 3);
    EXPECT_EQ(load(folder.file(index)).find("a")->as_tensor()[0].item<double>(), 1);
    EXPECT_EQ(load(folder.file(whole)).find("a")->as_tensor()[0].item<double>(), 3);
  }
}

TEST(Checkpoint, DamagedBytesAreFoundWhenTheyAreRead) {
  std::string bytes = TempDir::read(kLinear);
  bytes[bytes.find("\xe8\xa3\x8d\xbb")] ^= 1;
  const Checkpoint file = Checkpoint::open(std::as_bytes(std::span(bytes)));
  expect_error<FormatError>([&] { file.verify(); }, "checksum", "record data/0");
  expect_error<FormatError>([&] { file.load(); }, "checksum");
  EXPECT_NO_THROW(file.load({.verify = false}));
}

}  // namespace
}  // namespace tenon
