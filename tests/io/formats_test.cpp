// The table of formats: what is asked of its rows, and in which order they answer.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "io/formats/open.h"
#include "io/formats/table.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/checkpoint.h"
#include "tenon/file_format.h"
#include "tenon/save.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

std::string refusal(std::string_view bytes) {
  try {
    Checkpoint::open(std::as_bytes(std::span(bytes)));
  } catch (const FormatError& error) {
    return error.what();
  }
  return {};
}

TEST(Formats, EveryRowSaysHowItIsRecognizedAndOpened) {
  std::set<std::string_view> names, in_folder;
  for (const Format* format : kFormats) {
    EXPECT_TRUE(names.insert(format->name).second) << format->name;
    EXPECT_FALSE(format->noun.empty()) << format->name;
    ASSERT_NE(format->claim, nullptr) << format->name;
    EXPECT_NE(format->open == nullptr, format->open_beside == nullptr) << format->name;
    EXPECT_EQ(format_named(format->name), format);
    for (const std::string_view name : format->in_folder)
      EXPECT_TRUE(in_folder.insert(name).second) << name;
  }
  EXPECT_EQ(format_named("gguf"), nullptr);
}

TEST(Formats, OnlyThoseThatAreWrittenHaveAFileFormat) {
  EXPECT_EQ(FileFormat::named("pth"), FileFormat::pth);
  EXPECT_EQ(FileFormat::named("safetensors"), FileFormat::safetensors);
  for (const char* name : {"legacy", "index", "torchscript", "PTH", ""})
    EXPECT_FALSE(FileFormat::named(name)) << name;
  EXPECT_EQ(FileFormat::all(), (std::vector{FileFormat::pth, FileFormat::safetensors}));
  EXPECT_EQ(FileFormat::of_shards(), FileFormat::safetensors);
  for (const char* name : {"a.pth", "a.pt", "dir/a.bin"})
    EXPECT_EQ(FileFormat::of_path(name), FileFormat::pth) << name;
  EXPECT_EQ(FileFormat::of_path("a.safetensors"), FileFormat::safetensors);
  for (const char* name : {"a", "a.npz", "a.pth/b", ""})
    EXPECT_FALSE(FileFormat::of_path(name)) << name;
}

TEST(Formats, EveryFormatOfSeveralFilesFindsItsIndexInTheFolder) {
  for (const FileFormat format : FileFormat::all()) {
    const std::string index = format.index_name();
    ASSERT_FALSE(index.empty()) << format.name();
    const auto& names = format_named(format.name())->in_folder;
    EXPECT_NE(std::find(names.begin(), names.end(), index), names.end()) << index;
    const TempDir folder;
    const Value state = Value::dict({{"a", full({100}, 1)}, {"b", full({100}, 2)}});
    const SaveReport report =
        save(state, folder.file("out"), {.format = format, .shard_size = 400});
    EXPECT_EQ(report.files.size(), 3u);
    EXPECT_EQ(report.files.back(), folder.file("out/" + index));
    EXPECT_EQ(load(folder.file("out")).find("b")->as_tensor()[99].item<double>(), 2);
  }
}

// A file may be a zip archive and begin as safetensors do, and no one knows which one is meant.
TEST(Formats, AFileOfTwoFormatsIsRefused) {
  const TempDir folder;
  const std::string file = folder.file("both");
  std::ofstream(file, std::ios::binary) << std::string("PK\x03\x04\0\0\0\0{", 9);
  fs::resize_file(file, 0x04034b50 + 8);
  expect_error<FormatError>([&] { load(file); },
                            "a zip archive and safetensors at once, two checkpoints in one file");
  fs::resize_file(file, 0x04034b50 + 7);  // the header of safetensors would not fit
  expect_error<FormatError>([&] { load(file); }, "zip");
}

TEST(Formats, WhatFitsBetterIsTakenBeforeWhatBeginsAlike) {
  // The length of the header is also the first operation of a pickle.
  const std::string header = "{" + std::string(127, ' ');
  const std::string both = std::string("\x80\0\0\0\0\0\0\0", 8) + header;
  EXPECT_NE(refusal(both).find("the header is no JSON"), std::string::npos) << refusal(both);
  const std::string longer = std::string("\x81\0\0\0\0\0\0\0", 8) + header;
  EXPECT_NE(refusal(longer).find("cut short"), std::string::npos) << refusal(longer);
  const std::string brace = "{\"a\": 1{, \"weight_map\": {}}";
  EXPECT_NE(refusal(brace).find("open it by its path"), std::string::npos) << refusal(brace);
  const TempDir folder;
  std::ofstream(folder.file("text")) << " \n" << brace;
  expect_error<FormatError>([&] { load(folder.file("text")); }, "nor the index of one");
}

TEST(Formats, AFolderWithoutACheckpointIsToldTheNamesThatAreLookedFor) {
  const TempDir folder;
  expect_error<FormatError>([&] { load(folder.file("")); },
                            "a folder without model.safetensors or pytorch_model.bin, or their "
                            "index: name the file");
  EXPECT_EQ(names_in_folder(),
            (std::vector<std::string_view>{"model.safetensors", "model.safetensors.index.json",
                                           "pytorch_model.bin", "pytorch_model.bin.index.json"}));
}

}  // namespace
}  // namespace tenon
