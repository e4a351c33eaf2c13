#include "tenon/checkpoint.h"

#include "support/matchers.h"

namespace tenon {
namespace {

std::string file(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}
Checkpoint open(const std::string& bytes) {
  return Checkpoint::open(std::as_bytes(std::span(bytes)));
}

TEST(Safetensors, TensorsAreReadWithTheirNames) {
  const std::string bytes =
      file(R"({"__metadata__":{"by":"me"},"a":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},)"
           R"("b":{"dtype":"U8","shape":[],"data_offsets":[4,5]}})",
           std::string("\1\0\2\0\7", 5));
  const Checkpoint checkpoint = open(bytes);
  EXPECT_EQ(checkpoint.format(), "safetensors");
  const Value state = checkpoint.load();
  EXPECT_TRUE(equal(state.find("a")->as_tensor(), tensor({1, 2}, {.dtype = int16})));
  EXPECT_EQ(state.find("b")->as_tensor().item<int>(), 7);
  EXPECT_EQ(state.attributes().find("__metadata__")->find("by")->as_string(), "me");
}

TEST(Safetensors, HeadersThatAreWrongAreRefusedWithTheReason) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,3]}})", "need 4 bytes"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       "twice"},
      {R"({"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", "F99"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "JSON"},
      {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", "JSON"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", "'x'"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", "missing"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", "overflow"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} x)", "JSON"},
      {R"({)", "JSON"},
  };
  for (const auto& [header, reason] : wrong) {
    expect_error<FormatError>([&, text = header] { open(file(text, "1234")); }, "memory: byte 8",
                              reason);
  }
  expect_error<FormatError>([] { open(file("{}", "1234")); }, "belong to none");
  expect_error<FormatError>([] { open(file("{}", "").substr(0, 9)); }, "byte 0");
}

}  // namespace
}  // namespace tenon
