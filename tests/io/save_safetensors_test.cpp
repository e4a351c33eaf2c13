// Writing safetensors: what other readers find, and what of it comes back that they do not know of.
#include <simdjson.h>

#include <cstring>

#include "io/files.h"
#include "io/same_values.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/save.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace json = simdjson::dom;

const SaveOptions kSafetensors{.format = FileFormat::safetensors};

std::string saved(const Value& value, const SaveOptions& options = kSafetensors) {
  const auto bytes = save_to_memory(value, options);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Value read_back(std::string_view text) {
  return Checkpoint::open(std::as_bytes(std::span(text))).load();
}

std::string header_of(const std::string& file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  return file.substr(8, static_cast<std::size_t>(length));
}

// The file with another header.
std::string with_header(const std::string& file, const std::string& header) {
  const std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header + file.substr(8 + header_of(file).size());
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::vector<std::string> notes_of(const Value& value) {
  const TempDir folder;
  return save(value, folder.file("x.safetensors")).notes;
}

std::vector<std::string> names_of(const Value& dict) {
  std::vector<std::string> names;
  for (const auto& [name, value] : dict.entries()) names.push_back(name.as_string());
  return names;
}

// Strict: all of it is held as it is, or it is refused.
void expect_noted(const Value& value, const std::string& part) {
  EXPECT_THAT(notes_of(value), testing::Contains(HasSubstr(part)));
  SaveOptions strict = kSafetensors;
  strict.strict = true;
  expect_error<ValueError>([&] { save_to_memory(value, strict); }, part);
}

TEST(SaveSafetensors, MegabytesOfTextAreWrittenBesideTheTensors) {
  const std::string text(std::size_t{15} << 20, 't');
  const Value state = Value::dict(
      {{"w", ones({4})}, {"tokenizer", text}, {"bytes", Value::bytes(text.substr(0, 1 << 20))}});
  const auto bytes = save_to_memory(state, {.format = FileFormat::safetensors});
  const Value back = Checkpoint::open(bytes).load();
  EXPECT_EQ(back.find("tokenizer")->as_string(), text);
  EXPECT_EQ(back.find("bytes")->as_bytes().size(), std::size_t{1} << 20);
}

TEST(SaveSafetensors, TensorsLieWhereTheirElementsMay) {
  std::vector<Value::Entry> entries;
  int i = 0;
  for (const DType dtype : {uint8, float64, float16, bool_, float32, int64, int8, complex64,
                            bfloat16, float8_e4m3fn, int16})
    for (const int n : {3, 0, 1})
      entries.emplace_back("t" + std::to_string(i++), zeros({n}, {.dtype = dtype}));
  const Value value = Value::dict(std::move(entries));
  const std::string file = saved(value);
  const std::string header = header_of(file);
  EXPECT_EQ((8 + header.size()) % 64, 0u);
  EXPECT_EQ(header[0], '{');
  json::parser parser;
  const json::element root = parser.parse(simdjson::padded_string(header));
  std::vector<std::string> order;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  for (const auto field : json::object(root.get_object())) {
    if (field.key == "__metadata__") continue;
    order.emplace_back(field.key);
    const Tensor tensor = value.find(field.key)->as_tensor();
    const json::array offsets = field.value["data_offsets"];
    const std::uint64_t begin = offsets.at(0), end = offsets.at(1);
    EXPECT_EQ(begin % static_cast<std::uint64_t>(tensor.element_size()), 0u) << field.key;
    EXPECT_EQ(end - begin, static_cast<std::uint64_t>(tensor.nbytes()));
    places.emplace_back(begin, end);
  }
  EXPECT_EQ(order, names_of(value));
  // One behind the other, without holes: the format wants that.
  std::sort(places.begin(), places.end());
  std::uint64_t at = 0;
  for (const auto& [begin, end] : places) {
    EXPECT_EQ(begin, at);
    at = end;
  }
  EXPECT_EQ(8 + header.size() + at, file.size());
  expect_same(value, read_back(file));
  const Checkpoint opened = Checkpoint::open(std::as_bytes(std::span(file)));
  for (const StorageFacts& storage : opened.storages()) EXPECT_TRUE(storage.mappable);
}

TEST(SaveSafetensors, APlainDictSaysItsTensorsAndTheFormatOthersAskFor) {
  const std::string file = saved(Value::dict({{"b", arange(3.0)}, {"a", ones({2, 2})}}));
  EXPECT_THAT(header_of(file), testing::StartsWith(R"({"__metadata__":{"format":"pt",)"));
  EXPECT_THAT(header_of(file), testing::HasSubstr(R"(},"b":{"dtype":"F32","shape":[3])"));
}

TEST(SaveSafetensors, TiesAndViewsAreWrittenOnceAndShareAgain) {
  const Tensor base = arange(24.0), tied = ones({2, 2});
  const Value state = Value::ordered_dict({{"rows", base.slice(0, 4, 12).view({2, 4})},
                                           {"embed", tied},
                                           {"base", base},
                                           {"turned", base.view({4, 6}).t()},
                                           {"head", tied},
                                           {"element", base[23]}});
  const std::string file = saved(state);
  EXPECT_LT(file.size(), 8 + header_of(file).size() + 4 * 24 + 16 + 1);
  expect_same(state, read_back(file));  // strides and the order of names, too
  EXPECT_THAT(notes_of(state), IsEmpty());
  // A part that is there twice is one tensor.
  const Tensor part = base.slice(0, 1, 5);
  const Value twice = Value::dict({{"p", part}, {"base", base}, {"q", part}, {"r", part}});
  expect_same(twice, read_back(saved(twice)));
  SaveOptions strict = kSafetensors;
  strict.strict = true;
  EXPECT_EQ(saved(state, strict), file);
  // Parts of something that is not there itself: those that overlap are written each.
  const Value parts = Value::dict(
      {{"a", base.slice(0, 0, 10)}, {"b", base.slice(0, 5, 15)}, {"c", base.slice(0, 20, 24)}});
  expect_noted(parts, "share bytes, of which neither is all");
  EXPECT_TRUE(equal(read_back(saved(parts)).find("b")->as_tensor(), base.slice(0, 5, 15)));
}

TEST(SaveSafetensors, ParametersStayParameters) {
  const Value params = load(fixture("torch-2.14.1/params.pt"));
  expect_same(params, read_back(saved(params)), {.strides = false, .attributes = false});
}

TEST(SaveSafetensors, EveryDTypeComesBack) {
  const Value all = load(fixture("torch-2.14.1/dtypes.pt"));
  expect_same(all, read_back(saved(all)));
  // With gaps, too.
  std::vector<Value::Entry> entries;
  for (const auto& [name, item] : all.entries()) {
    if (!item.is_tensor() || item.as_tensor().dim() != 1) continue;
    entries.emplace_back(name, item.as_tensor().slice(0, 0, {}, 2));
  }
  const Value gaps = Value::dict(std::move(entries));
  EXPECT_GT(gaps.entries().size(), 5u);
  for (const bool compact : {false, true}) {
    SaveOptions options = kSafetensors;
    options.compact = compact;
    expect_same(gaps, read_back(saved(gaps, options)), {.strides = false});
  }
}

TEST(SaveSafetensors, WhatTheFormatCannotHoldIsNotedAndRefusedIfStrict) {
  const Tensor matrix = arange(6.0).view({2, 3});
  expect_noted(Value::dict({{"t", matrix.t()}}), "t: its strides");
  EXPECT_TRUE(
      equal(read_back(saved(Value::dict({{"t", matrix.t()}}))).find("t")->as_tensor(), matrix.t()));
  const Tensor wide = zeros({3}, {.dtype = complex128});
  expect_noted(Value::dict({{"z", wide}}), "z: safetensors has no complex128");
  expect_same(Value::dict({{"z", wide}}), read_back(saved(Value::dict({{"z", wide}}))));
  const Tensor turning = full({2}, std::complex<double>(1, 2), {.dtype = complex64}).conj();
  expect_noted(Value::dict({{"c", turning}}), "conjugates");
  const Tensor back = read_back(saved(Value::dict({{"c", turning}}))).find("c")->as_tensor();
  EXPECT_TRUE(equal(back, turning));
  const Tensor hung = arange(3.0);
  hung.set_attribute("note", 1);
  expect_noted(Value::dict({{"h", hung}}), "h: its attributes are not kept");
  // Also of one that is only a part of another.
  const Tensor part = hung.slice(0, 0, 2);
  part.set_attribute("note", 2);
  const Tensor plain = hung.detach();
  expect_noted(Value::dict({{"plain", plain}, {"part", part}}),
               "part: its attributes are not kept");
  SaveOptions strict = kSafetensors;
  strict.strict = true;
  expect_error<ValueError>([&] { save_to_memory(Value::list({matrix}), strict); },
                           "more than that");
  expect_error<ValueError>([&] { save_to_memory(Value::dict({{"n", 1}, {"m", matrix}}), strict); },
                           "more than that");
  EXPECT_NO_THROW(save_to_memory(Value::dict({{"m", matrix}}), strict));
}

TEST(SaveSafetensors, NamesThatCannotBeAreRefused) {
  const Tensor one = ones({1});
  expect_error<ValueError>([&] { saved(Value::dict({{"__metadata__", one}})); }, "__metadata__");
  expect_error<ValueError>(
      [&] { saved(Value::dict({{"a", Value::dict({{"b", one}})}, {"a.b", ones({2})}})); }, "'a.b'",
      "joined by dots");
  expect_error<ValueError>([&] { saved(Value::dict({{"\xff", one}})); }, "UTF-8");
  expect_error<ValueError>([&] { saved(Value::dict({{"m", one.to(Device::meta())}})); }, "m",
                           "meta");
  const Value odd = Value::dict({{"quote\"\\\n\x01\u00e4", one}, {"", ones({2})}});
  expect_same(odd, read_back(saved(odd)));
}

TEST(SaveSafetensors, TextsOfTheMetadataAreKept) {
  const std::string net = fixture("torch-2.11/net.safetensors");
  const Value first = load(net);
  expect_same(first, read_back(saved(first)));
  const Value texts = Value::dict({{"format", "pt"}, {"author", "so\"me\u00e4"}});
  const Value state =
      Value::ordered_dict({{"a", arange(3.0)}}, Value::dict({{"__metadata__", texts}}));
  const std::string file = saved(state);
  EXPECT_THAT(header_of(file),
              AllOf(HasSubstr(R"("format":"pt")"), HasSubstr(R"("author":"so\"me)"),
                    testing::Not(HasSubstr("tenon."))));
  expect_same(state, read_back(file));
  // With notes of ours beside them, and once more without growing.
  const Value both =
      Value::ordered_dict({{"a", arange(3.0).requires_grad_()}},
                          Value::dict({{"__metadata__", texts}, {"_metadata", Value::dict({})}}));
  const std::string again = saved(both);
  const Value back = read_back(again);
  EXPECT_EQ(back.attributes().find("__metadata__")->find("format")->as_string(), "pt");
  EXPECT_NE(back.attributes().find("_metadata"), nullptr);
  EXPECT_TRUE(back.find("a")->as_tensor().requires_grad());
  EXPECT_EQ(saved(back).size(), again.size());
}

// Every shard has a format, as other libraries want it; one that is no word is in the first alone.
TEST(SaveSafetensors, ALongFormatIsNotInEveryShard) {
  for (const std::string& format : {std::string(64, 'f'), std::string(65, 'f')}) {
    const TempDir folder;
    const Value texts = Value::dict({{"format", format}});
    const Value state = Value::ordered_dict({{"a", arange(3.0)}, {"b", arange(4.0)}},
                                            Value::dict({{"__metadata__", texts}}));
    save(state, folder.file("out"), {.format = FileFormat::safetensors, .shard_size = 1});
    const auto shard = [&](const char* number) {
      return header_of(TempDir::read(
          folder.file(std::string("out/model-0000") + number + "-of-00002.safetensors")));
    };
    const std::string later = format.size() == 64 ? format : "pt";
    EXPECT_THAT(shard("1"), HasSubstr("\"format\":\"" + format + "\""));
    EXPECT_THAT(shard("2"), HasSubstr("\"format\":\"" + later + "\""));
    expect_same(state, load(folder.file("out")));
  }
}

TEST(SaveSafetensors, AStateDictKeepsItsMetadata) {
  const Value state = load(fixture("torch-2.14.1/seq_sd.pt"));
  expect_same(state, read_back(saved(state)), {.shared_lists = false});
}

TEST(SaveSafetensors, OptimizersAndSparseTensorsComeBack) {
  for (const char* name : {"opt_adam.pt", "opt_sgd.pt", "sparse.pt", "edge.pt", "views.pt"}) {
    const Value value = load(fixture(std::string("torch-2.14.1/") + name));
    SCOPED_TRACE(name);
    SameOptions options{
        .strides = false, .attributes = false, .shared_lists = false, .bits = false};
    const Value back = read_back(saved(value));
    if (notes_of(value).empty()) options.strides = options.bits = true;
    // What shares bytes of which nothing is all is written apart, and said so.
    bool apart = false;
    for (const std::string& note : notes_of(value))
      apart = apart || note.find("share") != note.npos;
    if (!apart) expect_same(value, back, options);
    EXPECT_EQ(value.entries().size(), back.entries().size());
  }
}

TEST(SaveSafetensors, NotesThatDoNotFitAreIgnored) {
  const Tensor base = arange(6.0);
  const Value state = Value::ordered_dict({{"base", base}, {"part", base.slice(0, 1, 3)}},
                                          Value::dict({{"_metadata", Value::dict({})}}));
  const std::string file = saved(state);
  expect_same(state, read_back(file));
  // Somebody renamed the tensor and kept the texts.
  const std::string header = header_of(file);
  const std::string renamed = replaced(header, R"("base":{"dtype")", R"("other":{"dtype")");
  ASSERT_NE(renamed, header);
  const Value seen = read_back(with_header(file, renamed));
  EXPECT_THAT(names_of(seen), ElementsAre("other"));
  EXPECT_TRUE(equal(seen.find("other")->as_tensor(), base));
  // Changed it to something smaller, or wrote nonsense.
  const std::vector<std::pair<std::string, std::string>> changes{
      {R"(\"of\")", R"(\"off\")"},
      {R"(\"offset\": 1)", R"(\"offset\": 5)"},
      {R"(\"offset\": 1)", R"(\"offset\": -1)"},
      {R"(\"shape\": [2])", R"(\"shape\": [7])"},
      {R"(\"stride\": [1])", R"(\"stride\": [1, 1])"},
      {R"(\"at\": 1)", R"(\"at\": 9)"},
      {R"(\"at\": 1)", R"(\"at\": \"x\")"},
      {R"(\"of\": \"base\")", R"(\"of\": \"bass\")"},
      {R"(\"dtype\": \"float32\")", R"(\"dtype\": \"float99\")"},
      {R"(\"dtype\": \"float32\")", R"(\"dtype\": 7)"},
      {R"("tenon.tensors":"{)", R"("tenon.tensors":"{{)"},
      {R"("tenon.values":"{)", R"("tenon.values":"[)"},
      {R"(\"state_dict\")", R"(\"state\")"},
      {R"(\"of\": \"base\")", R"(\"of\": \"part\")"},
      {R"(\"of\": \"base\", \"at\": 1, )", R"(\"of\": \"part\", \"at\": 1}, \"x\": {)"}};
  for (const auto& [from, to] : changes) {
    const std::string changed = replaced(header, from, to);
    EXPECT_NE(changed, header) << from;
    Value back;
    EXPECT_NO_THROW(back = read_back(with_header(file, changed))) << from << " -> " << to;
    ASSERT_EQ(back.kind(), Value::Kind::dict);
    EXPECT_THAT(names_of(back), ElementsAre("base")) << from << " -> " << to;
  }
  // Another program took a tensor out of a tree.
  const Value tree = Value::dict({{"a", arange(3)}, {"n", 5}});
  const std::string one = saved(tree);
  expect_same(tree, read_back(one));
  const Value left =
      read_back(with_header(one, replaced(header_of(one), R"("a":{"dtype")", R"("b":{"dtype")")));
  EXPECT_THAT(names_of(left), ElementsAre("b"));
}

TEST(SaveSafetensors, NotesOfWhatAnotherProgramHasConvertedSayNothing) {
  const Tensor base = arange(12.0);
  const std::string file =
      saved(Value::dict({{"base", base}, {"part", base.slice(0, 0, 4)}, {"x", ones({2})}}));
  // The same header over half the bytes, as a conversion to float16 that keeps the metadata.
  std::string header = replaced(header_of(file), "\"dtype\":\"F32\"", "\"dtype\":\"F16\"");
  header = replaced(header, "[0,48]", "[0,24]");
  header = replaced(header, "[48,56]", "[24,28]");
  const std::string half = with_header(file, header).substr(0, 8 + header.size() + 28);
  const Value back = read_back(half);
  EXPECT_EQ(names_of(back), (std::vector<std::string>{"base", "x"}));
}

TEST(SaveSafetensors, HostileValuesInNotesAreNoValues) {
  const std::string file = saved(Value::dict({{"a", ones({2})}, {"n", 1}}));
  const std::string header = header_of(file);
  const std::size_t begin = header.find("{\\\"tree\\\""),
                    end = header.find("}\"},\"a\"", begin) + 1;
  ASSERT_NE(begin, header.npos);
  for (const std::string notes : {
           R"({"tree": {"object": ["layout", {"tuple": []}, null, null]}})",
           R"({"state_dict": true, "attributes": {"tensor": "a"}})",
           R"({"tree": {"object": ["sparse_tensor", {"tuple": []}, 5, null]}})",
           R"({"tree": {"object": ["nested_tensor", {"tuple": []}, {"dict": [[1, 2]]}, null]}})",
           R"({"tree": {"object": ["sparse_tensor", {"tuple": []}, {"dict": [["layout",
             "torch.sparse_coo"], ["indices", {"tensor": "a"}], ["values", {"tensor": "a"}],
             ["size", {"size": [2, 2]}]]}, null]}})",
           R"({"tree": {"object": ["os.system", {"tuple": ["x"]}, null, null]}})",
           R"({"tree": {"dict": [[{"tensor": "a"}, 1]]}})",
           R"({"tree": [1, 2]})",
           R"({"tree": {"tensor": "b"}})",
       }) {
    const std::string text = replaced(replaced(notes, "\n", " "), "\"", "\\\"");
    const std::string changed =
        with_header(file, header.substr(0, begin) + text + header.substr(end));
    const Value back = read_back(changed);
    EXPECT_EQ(names_of(back), std::vector<std::string>{"a"}) << notes;
    EXPECT_NO_THROW(StateDict(back).metadata());
    EXPECT_NO_THROW(save_to_memory(back));
  }
}

TEST(SaveSafetensors, TensorsWithoutANameAreRefused) {
  const Value state =
      Value::ordered_dict({{"a", ones({2})}}, Value::dict({{"hidden", zeros({1})}}));
  expect_error<ValueError>([&] { save_to_memory(state, kSafetensors); }, "has no name");
}

TEST(SaveSafetensors, TheEmptyNameIsAName) {
  const Tensor one = arange(3.0);
  const Value state = Value::ordered_dict({{"", one}, {"b", one}});
  expect_same(state, read_back(saved(state)));
}

TEST(SaveSafetensors, ManyPartsOfOneStorageAreFoundQuicklyAndNotedOnce) {
  const Tensor base = zeros({40'000});
  std::vector<Value::Entry> parts, windows;
  for (int i = 0; i < 20'000; ++i) {
    parts.emplace_back("p" + std::to_string(i), base.slice(0, 2 * i, 2 * i + 2));
    windows.emplace_back("w" + std::to_string(i), base.slice(0, i, i + 3));
  }
  EXPECT_THAT(notes_of(Value::dict(std::move(parts))), IsEmpty());
  EXPECT_LE(notes_of(Value::dict(std::move(windows))).size(), 20'000u);
}

// A view of wider elements moves its carrier forward, unless the carrier does not end with one.
TEST(SaveSafetensors, EveryTensorBeginsWhereItsElementsMayLie) {
  const Tensor odd = ones({9}, {.dtype = uint8}), even = ones({16}, {.dtype = uint8});
  const Value state = Value::dict({{"odd", odd},
                                   {"in_odd", odd.narrow(0, 0, 8).view(float64)},
                                   {"even", even},
                                   {"in_even", even.view(float64)},
                                   {"half", ones({3}, {.dtype = float16})},
                                   {"wide", ones({4}, {.dtype = float64})}});
  const TempDir folder;
  const std::string file = folder.file("x.safetensors");
  save(state, file);
  const Checkpoint checkpoint = Checkpoint::open(file);
  for (const TensorFacts& facts : checkpoint.tensors()) {
    if (facts.name.ends_with("odd")) continue;  // its bytes have no place that suits both
    EXPECT_TRUE(checkpoint.storages()[facts.storage].mappable) << facts.name;
  }
  EXPECT_TRUE(
      equal(load(file, {.mmap = true}).find("wide")->as_tensor(), ones({4}, {.dtype = float64})));
}

}  // namespace
}  // namespace tenon
