#include "costly_files.h"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "hand_made.h"
#include "io/formats/open.h"
#include "io/read/loader.h"
#include "io/read/survey.h"
#include "io/read/walk.h"
#include "io/write/file_payload.h"
#include "io/write/saver.h"
#include "support/program_archive.h"

namespace tenon {

namespace {

using namespace std::string_literals;

const std::string kStorage = program::global("torch._utils", "_rebuild_tensor_v2") +
                             program::put(1) + "0(" + program::text("storage") +
                             program::global("torch", "FloatStorage") + program::text("0") +
                             program::text("cpu") + "K\1tQ" + program::put(2) + "0";
// A tensor over the storage of one element, with the sizes and strides in the memo under 3 and 4.
const std::string kTensor = program::get(1) + "(" + program::get(2) + "K\0"s + program::get(3) +
                            program::get(4) + "\x89" +
                            program::global("collections", "OrderedDict") + ")RtR";

std::string repeated(std::size_t n, const std::string& what) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += what;
  return out;
}
// A list of what is written n times.
std::string list(std::size_t n, const std::string& what) { return "](" + repeated(n, what) + "e"; }
std::string list_of_sizes(std::size_t n) { return "(" + repeated(n, "K\1") + "t"; }

std::string called_again(const std::string& function, std::size_t levels,
                         const std::string& first) {
  std::string program = first + program::put(10) + "0";
  for (std::size_t i = 0; i < levels; ++i) {
    const auto before = static_cast<std::uint32_t>(10 + i);
    // Arguments that two calls share.
    program += program::get(before) + program::get(before) + "\x86\x85" + program::put(9) + "0" +
               function + program::get(9) + "R0" + function + program::get(9) + "R" +
               program::put(before + 1) + "0";
  }
  return program + program::get(static_cast<std::uint32_t>(10 + levels));
}

// A tuple that is in itself twice, so many times over.
std::string doubled(std::size_t levels) {
  std::string program = "K\1";
  for (std::uint32_t i = 0; i < levels; ++i)
    program += program::put(100 + i) + program::get(100 + i) + "\x86";
  return program;
}

// The id of a storage of one float, with its key; the other parts are in the memo under 6, 7 and 8.
std::string storage_called(const std::string& key) {
  return "(" + program::get(8) + program::get(7) + program::text(key) + program::get(6) + "K\1tQ";
}
std::string parts_of_storages(const std::string& location) {
  return program::text(location) + program::put(6) + "0" +
         program::global("torch", "FloatStorage") + program::put(7) + "0" +
         program::text("storage") + program::put(8) + "0";
}

// What PyTorch wrote before 1.6: a stream of pickles, and the storages.
std::string stream(std::size_t n) {
  const auto pickle = [](const std::string& program) { return "\x80\x02" + program + "."; };
  std::string uses = parts_of_storages("cpu") + "](", keys = "](", storages;
  for (std::size_t i = 0; i < n; ++i) {
    uses += storage_called(std::to_string(i));
    keys += program::text(std::to_string(i));
    storages += program::number(1, 8) + std::string(4, '\0');
  }
  return pickle("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19") +
         pickle(program::integer(1001)) + pickle("}" + program::text("little_endian") + "\x88s") +
         pickle(uses + "e") + pickle(keys + "e") + storages;
}

// The storages of sparse tensors: a value, and so many indices.
std::vector<std::string> indices(std::size_t n) {
  return {std::string(4, '\0'), std::string(8 * n, '\0')};
}

// So many sparse tensors of the same values and indices.
std::string sparse_tensors(std::size_t n, std::size_t indices, bool expanded,
                           const std::function<std::size_t(std::size_t)>& size) {
  const auto number = [](std::size_t value) {
    return program::integer(static_cast<std::int64_t>(value));
  };
  const auto tensor = [&](const std::string& kind, const std::string& key, std::size_t count,
                          const std::string& sizes, const std::string& of_strides) {
    return program::get(1) + "((" + program::text("storage") + program::global("torch", kind) +
           program::text(key) + program::text("cpu") + number(count) + "tQ" + number(0) + sizes +
           of_strides + "\x89" + program::global("collections", "OrderedDict") + ")RtR";
  };
  const std::string matrix =
      tensor("LongStorage", "1", expanded ? 1 : indices, number(1) + number(indices) + "\x86",
             number(expanded ? 0 : indices) + number(expanded ? 0 : 1) + "\x86");
  const std::string values =
      tensor("FloatStorage", "0", 1, number(indices) + "\x85", number(0) + "\x85");
  std::string program = program::global("torch._utils", "_rebuild_tensor_v2") + program::put(1) +
                        "0" + matrix + program::put(3) + "0" + values + program::put(4) + "0" +
                        program::global("torch.serialization", "_get_layout") +
                        program::text("torch.sparse_coo") + "\x85R" + program::put(5) + "0" +
                        program::global("torch._utils", "_rebuild_sparse_tensor") +
                        program::put(6) + "0](";
  for (std::size_t i = 0; i < n; ++i)
    program += program::get(6) + program::get(5) + program::get(3) + program::get(4) +
               number(size(i)) + "\x85\x87\x86R";
  return program + "e";
}

// Tensors of many storages of a thousand floats: of each one, and then of each another.
std::string tensors_in_turn(std::size_t n) {
  std::string program = "K\1\x85"s + program::put(3) + "0" + parts_of_storages("cpu") +
                        program::global("torch._utils", "_rebuild_tensor_v2") + program::put(1) +
                        "0](";
  for (std::size_t turn = 0; turn < 16; ++turn) {
    for (std::uint32_t i = 0; i < n / 16; ++i) {
      const std::string storage = "(" + program::get(8) + program::get(7) +
                                  program::text(std::to_string(i)) + program::get(6) +
                                  program::integer(1000) + "tQ" + program::put(100 + i);
      program += program::get(1) + "(" + (turn == 0 ? storage : program::get(100 + i)) +
                 program::integer(static_cast<std::int64_t>(turn)) + program::get(3) +
                 program::get(3) + "\x89" + program::global("collections", "OrderedDict") + ")RtR";
    }
  }
  return program + "e";
}

constexpr const char* kIndex = "model.safetensors.index.json";

// Of tensors t0, t1, ...
std::string index(std::size_t n, const std::function<std::string(std::size_t)>& shard) {
  std::string text = R"({"weight_map":{)";
  for (std::size_t i = 0; i < n; ++i)
    text += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + "\":\"" + shard(i) + "\"";
  return text + "}}";
}
std::string shard_name(std::size_t i) { return "s" + std::to_string(i); }
// With so many of these tensors, of a byte each.
std::string shard(std::size_t first, std::size_t n) {
  std::string header = "{";
  for (std::size_t i = 0; i < n; ++i)
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(first + i) +
              R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" + std::to_string(i) + "," +
              std::to_string(i + 1) + "]}";
  return program::number(header.size() + 1, 8) + header + "}" + std::string(n, '\0');
}

const std::vector<Use> kEverywhere(std::begin(kUses), std::end(kUses));

std::vector<Structure> structures() {
  return {
      {.name = "the tensors of an ordinary state dict",
       .program =
           [](std::size_t n) {
             std::string program =
                 "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage + "}(";
             for (std::size_t i = 0; i < n; ++i)
               program += program::text("model.layers." + std::to_string(i) + ".weight") + kTensor;
             return program + "u";
           }},
      {.name = "a text in many places",
       .program =
           [](std::size_t n) {
             return program::text(std::string(n, 'x')) + program::put(0) + "0" +
                    list(n, program::get(0));
           },
       .multiplied = {Use::to_safetensors}},
      {.name = "a long key of many dicts",
       .program =
           [](std::size_t n) {
             return program::text(std::string(n, 'k')) + program::put(0) + "0" +
                    list(n, "}" + program::get(0) + "Ns");
           },
       .multiplied = kEverywhere},
      {.name = "a list in many places",
       .program =
           [](std::size_t n) {
             return list(n, "N") + program::put(0) + "0" + list(n, program::get(0));
           },
       .multiplied = {Use::open, Use::load_a_part, Use::to_safetensors}},
      {.name = "a dict that many others are made of",
       .program =
           [](std::size_t n) {
             std::string program = "}(";
             for (std::size_t i = 0; i < n; ++i)
               program += program::integer(static_cast<std::int64_t>(i)) + "N";
             return program + "u" + program::put(0) + "0" +
                    program::global("collections", "OrderedDict") + program::put(1) + "0" +
                    list(n, program::get(1) + program::get(0) + "\x85R");
           },
       .size = 150,
       .multiplied = kEverywhere},
      {.name = "a list that many sets are made of",
       .program =
           [](std::size_t n) {
             std::string program = "](";
             for (std::size_t i = 0; i < n; ++i)
               program += program::integer(static_cast<std::int64_t>(i));
             return program + "e" + program::put(0) + "0" + program::global("builtins", "set") +
                    program::put(1) + "0" + list(n, program::get(1) + program::get(0) + "\x85R");
           },
       .size = 150,
       .multiplied = kEverywhere},
      {.name = "arguments shared by calls, level by level",
       .program =
           [](std::size_t n) {
             // No deeper than values may be.
             constexpr std::size_t kLevels = 150;
             std::string program = "](";
             for (std::size_t left = n / 8, levels = 0; left > 0; left -= levels) {
               levels = std::min(left, kLevels);
               program += called_again(program::global("builtins", "frozenset"), levels, "K\1\x85");
             }
             return program + "e";
           },
       .size = 2400},
      {.name = "a state that many parameters share",
       .program =
           [](std::size_t n) {
             std::string state = "}(";
             for (std::size_t i = 0; i < n; ++i)
               state += program::text("a" + std::to_string(i)) + "N";
             return "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage + state + "u" +
                    program::put(5) + "0" + kTensor + program::put(6) + "0" +
                    program::global("torch._utils", "_rebuild_parameter_with_state") +
                    program::put(7) + "0" +
                    list(n, program::get(7) + "(" + program::get(6) + "\x89N" + program::get(5) +
                                "tR");
           },
       .size = 100,
       .multiplied = kEverywhere},
      {.name = "metadata that many tensors share",
       .program =
           [](std::size_t n) {
             return "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage + "}(" +
                    repeated(n, program::text("neg") + "\x88") + "u" + program::put(5) + "0" +
                    list(n, program::get(1) + "(" + program::get(2) + "K\0"s + program::get(3) +
                                program::get(4) + "\x89N" + program::get(5) + "tR");
           },
       .size = 200,
       .multiplied = kEverywhere},
      {.name = "sizes of 64 dimensions that many tensors share",
       .program =
           [](std::size_t n) {
             return list_of_sizes(64) + program::put(3) + program::put(4) + "0" + kStorage + "(" +
                    program::get(2) + "K\0"s + program::get(3) + program::get(4) + "\x89Nt" +
                    program::put(5) + "0" + list(4 * n, program::get(1) + program::get(5) + "R");
           },
       .size = 100},
      {.name = "numbers of the memo that double",
       .program =
           [](std::size_t n) {
             std::string program = "N";
             for (std::uint64_t at = 1; at < std::min<std::uint64_t>(n * n, 16 << 20);
                  at = at * 2 + 1)
               program += program::put(static_cast<std::uint32_t>(at));
             return program;
           }},
      {.name = "lists in lists, each twice",
       .program =
           [](std::size_t n) {
             std::string program = "]" + program::put(0);
             for (std::uint32_t i = 0; i < std::min<std::size_t>(n, 900); ++i)
               program += "0](" + program::get(i) + program::get(i) + "e" + program::put(i + 1);
             return program;
           },
       .endless = {Use::open, Use::load_a_part, Use::to_safetensors},
       .size = 200},
      {.name = "tuples in the key of a dict, each twice",
       .program =
           [](std::size_t n) {
             std::string program = "K\1\x85" + program::put(0);
             for (std::uint32_t i = 0; i < std::min<std::size_t>(n, 500); ++i)
               program += "0" + program::get(i) + program::get(i) + "\x86" + program::put(i + 1);
             return program + program::put(1000) + "0}" + program::get(1000) + "Ns";
           },
       .endless = kEverywhere,
       .size = 100},
      {.name = "modules in modules, each twice, read inert",
       .program =
           [](std::size_t n) {
             const auto module = [](const std::string& parameters, const std::string& modules) {
               return program::global("m", "M") + ")\x81}(" + program::text("_parameters") +
                      parameters + program::text("_buffers") + "}" + program::text("_modules") +
                      modules + "ub";
             };
             std::string program = "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage +
                                   module("}" + program::text("w") + kTensor + "s", "}");
             for (std::uint32_t i = 0; i < std::min<std::size_t>(n, 300); ++i) {
               const std::string inside = program::get(100 + i);
               program += program::put(100 + i) + "0" +
                          module("}", "}(" + program::text("a") + inside + program::text("b") +
                                          inside + "u");
             }
             return program;
           },
       .inert = true,
       .endless = {Use::open, Use::load_a_part},
       .size = 100},
      {.name = "a state that many objects share, read inert",
       .program =
           [](std::size_t n) {
             std::string state = "}(";
             for (std::size_t i = 0; i < n; ++i)
               state += program::text("a" + std::to_string(i)) + "N";
             return state + "u" + program::put(0) + "0" + program::global("m", "M") +
                    program::put(1) + "0" +
                    list(n, program::get(1) + ")\x81" + program::get(0) + "b");
           },
       .inert = true,
       .size = 200,
       .multiplied = {Use::open, Use::load_a_part}},
      {.name = "parameters that many modules share, read inert",
       .program =
           [](std::size_t n) {
             std::string names = "}(";
             for (std::size_t i = 0; i < n; ++i)
               names += program::text("a" + std::to_string(i)) + "N";
             return "}(" + program::text("_parameters") + names + "u" + program::text("_buffers") +
                    "}" + program::text("_modules") + "}u" + program::put(0) + "0" +
                    program::global("m", "M") + program::put(1) + "0" +
                    list(n, program::get(1) + ")\x81" + program::get(0) + "b");
           },
       .inert = true,
       .size = 200,
       .multiplied = {Use::open, Use::load_a_part}},
      {.name = "long names of objects that are read inert",
       .program =
           [](std::size_t n) {
             return program::text(std::string(std::min<std::size_t>(n, 1024), 'm')) +
                    program::put(0) + "0" +
                    program::text(std::string(std::min<std::size_t>(n, 1024), 'n')) +
                    program::put(1) + "0" + list(n, program::get(0) + program::get(1) + "\x93)R");
           },
       .inert = true,
       .size = 1500},
      {.name = "a key of a storage on meta, long",
       .program =
           [](std::size_t n) {
             const std::string key =
                 program::text(std::string(std::min<std::size_t>(n, 4000), 'k'));
             return "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage + key +
                    program::put(5) + "0" + program::text("meta") + program::put(6) + "0" +
                    program::global("torch", "FloatStorage") + program::put(7) + "0" +
                    program::text("storage") + program::put(8) + "0" +
                    list(n, program::get(1) + "((" + program::get(8) + program::get(7) +
                                program::get(5) + program::get(6) + "K\1tQK\0"s + program::get(3) +
                                program::get(4) + "\x89NtR");
           },
       .on_meta = true,
       .size = 8000},
      // What is written in every place, or for every tensor.
      {.name = "attributes of tensors",
       .program =
           [](std::size_t n) {
             std::string state = "}(";
             for (std::size_t i = 0; i < n; ++i)
               state += program::text("a" + std::to_string(i)) + "N";
             return "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage + "}" +
                    program::text("a") +
                    program::global("torch._utils", "_rebuild_parameter_with_state") + "(" +
                    kTensor + "\x89N" + state + "utRs";
           }},
      {.name = "a long name of a tensor that has many",
       .program =
           [](std::size_t n) {
             std::string program = "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage +
                                   kTensor + program::put(5) + "0}(" +
                                   program::text(std::string(n, 'k')) + program::get(5);
             for (std::size_t i = 0; i < n; ++i)
               program += program::text("n" + std::to_string(i)) + program::get(5);
             return program + "u";
           },
       .size = 1000,
       .multiplied = {Use::to_safetensors}},
      {.name = "a large integer in many places",
       .program =
           [](std::size_t n) {
             return "\x8b" + program::number(1000, 4) + std::string(1000, '\7') + program::put(0) +
                    "0" + list(n, program::get(0));
           },
       .size = 200},
      {.name = "long names of tensors that overlap",
       .program =
           [](std::size_t n) {
             std::string program = "K\1\x85"s + program::put(3) + "0K\2\x85"s + program::put(4) +
                                   "0" + kStorage + "}(";
             const std::string name(n / 8, 'o');
             for (std::size_t i = 0; i < n / 8; ++i)
               program += program::text(name + std::to_string(i)) + kTensor;
             return program + "u";
           }},
      {.name = "tensors of many dimensions in a header",
       .program =
           [](std::size_t n) {
             const std::string about = R"(":{"dtype":"U8","data_offsets":[0,0],"shape":[0)";
             std::string header = "{";
             for (std::size_t i = 0; i < n; ++i)
               header +=
                   (i == 0 ? "\"" : ",\"") + std::to_string(i) + about + repeated(63, ",0") + "]}";
             return header + "}";
           },
       .is_header = true,
       .size = 200},
      {.name = "calls of a set without arguments",
       .program =
           [](std::size_t n) {
             return program::global("builtins", "set") + program::put(0) + "0" +
                    list(n, program::get(0) + ")R");
           }},
      {.name = "sets in notes",
       .program =
           [](std::size_t n) {
             std::string values = R"({\"tree\": [)";
             for (std::size_t i = 0; i < n; ++i)
               values += i == 0 ? R"({\"set\": []})" : R"(, {\"set\": []})";
             return R"({"__metadata__":{"format":"pt","tenon.values":")" + values + R"(]}"}})";
           },
       .is_header = true},
      {.name = "sets of sets of a tuple that they share",
       .program =
           [](std::size_t n) {
             std::string program = program::global("builtins", "frozenset") + program::put(1) +
                                   "0" + doubled(6) + program::put(2) + "0" +
                                   program::global("builtins", "set") + "](";
             for (std::size_t i = 0; i < n; ++i) {
               program += program::get(1) + program::get(2) +
                          program::integer(static_cast<std::int64_t>(i)) + "\x86\x85\x85R";
             }
             return program + "e\x85R";
           },
       .size = 200},
      {.name = "sets of sets of long tuples in notes",
       .program =
           [](std::size_t n) {
             std::string values;
             for (std::size_t i = 0; i < n; ++i) {
               values += (i == 0 ? "" : ", ") + R"({\"set\": [{\"tuple\": [)"s +
                         repeated(30, "0, ") + std::to_string(i) + "]}]}";
             }
             return R"({"__metadata__":{"format":"pt","tenon.values":"{\"tree\": [{\"set\": [)" +
                    values + R"(]}]}"}})";
           },
       .is_header = true,
       .size = 200},
      {.name = "storages on meta",
       .program =
           [](std::size_t n) {
             std::string program = parts_of_storages("meta") + "](";
             for (std::size_t i = 0; i < n; ++i) program += storage_called(std::to_string(i));
             return program + "e";
           },
       .on_meta = true},
      {.name = "storages of an old file", .program = stream, .is_file = true},
      {.name = "bytes in many places",
       .program =
           [](std::size_t n) {
             return "B" + program::number(n, 4) + std::string(n, '\xff') + program::put(0) + "0" +
                    list(n, program::get(0));
           },
       .size = 300,
       .multiplied = {Use::to_safetensors}},
      // Indices are looked at for each sparse tensor that is made of them.
      {.name = "sparse tensors of the same indices",
       .program =
           [](std::size_t n) { return sparse_tensors(n, n, false, [](std::size_t) { return 9; }); },
       .storages = indices,
       .multiplied = kEverywhere},
      {.name = "sparse tensors of one index",
       .program =
           [](std::size_t n) { return sparse_tensors(n, 1, false, [](std::size_t) { return 9; }); },
       .storages = [](std::size_t) { return indices(1); }},
      {.name = "sparse tensors of one index and many sizes",
       .program =
           [](std::size_t n) {
             return sparse_tensors(n, 1, false, [](std::size_t i) { return 9 + i; });
           },
       .storages = [](std::size_t) { return indices(1); }},
      {.name = "sparse tensors of indices that are expanded",
       .program =
           [](std::size_t n) { return sparse_tensors(n, n, true, [](std::size_t) { return 9; }); },
       .storages = [](std::size_t) { return indices(1); },
       .refusal = "indices repeat 8 bytes"},
      {.name = "a deflated program of lists",
       .program = [](std::size_t n) { return list(n, "]"); },
       .deflated = true,
       .size = 20'000,
       .multiplied = kEverywhere,
       .refused_at = 20'000},
      {.name = "a deflated program of many integers",
       .program =
           [](std::size_t n) {
             std::string program = "](";
             for (std::size_t i = 0; i < n; ++i)
               program += program::integer(static_cast<std::int32_t>(i * 2654435761U));
             return program + "e";
           },
       .deflated = true},
      {.name = "deflated tensors, their storages in turn",
       .program = tensors_in_turn,
       .storages =
           [](std::size_t n) { return std::vector<std::string>(n / 16, std::string(4000, 0)); },
       .deflated = true},
      {.name = "an index of a shard",
       .folder =
           [](std::size_t n) {
             return Folder{{kIndex, index(n, [](std::size_t) { return "s"s; })},
                           {"s", shard(0, n)}};
           }},
      {.name = "an index of many shards",
       .folder =
           [](std::size_t n) {
             const std::size_t count = std::min<std::size_t>(n / 4, 400);
             Folder folder{
                 {kIndex, index(4 * count, [](std::size_t i) { return shard_name(i / 4); })}};
             for (std::size_t i = 0; i < count; ++i)
               folder.push_back({shard_name(i), shard(4 * i, 4)});
             return folder;
           }},
      {.name = "an index of a shard under many names",
       .folder =
           [](std::size_t n) {
             const std::size_t count = std::min<std::size_t>(n, 1000);
             Folder folder{{kIndex, index(count, shard_name)}, {shard_name(0), shard(0, count)}};
             for (std::size_t i = 1; i < count; ++i)
               folder.push_back({shard_name(i), {}, shard_name(0)});
             return folder;
           },
       .refusal = "are one file"},
  };
}

}  // namespace

const std::vector<Structure>& costly_structures() {
  static const std::vector<Structure> all = structures();
  return all;
}

std::ostream& operator<<(std::ostream& out, const Structure& structure) {
  return out << structure.name;
}

CostlyFile::CostlyFile(const Structure& structure, std::size_t n) : inert_(structure.inert) {
  if (structure.folder) {
    folder_ = std::make_unique<TempDir>();
    for (const auto& [name, content, same_as] : structure.folder(n)) {
      if (same_as.empty())
        folder_->write(name, content);
      else
        std::filesystem::create_hard_link(folder_->file(same_as), folder_->file(name));
      stored_ += content.size();
    }
    return;
  }
  const std::string content = structure.program(n);
  const auto keep = [&](const std::string& file) {
    const auto bytes = std::as_bytes(std::span(file));
    bytes_.assign(bytes.begin(), bytes.end());
  };
  std::vector<std::string> storages{"\0\0\0\0"s};
  if (structure.storages) storages = structure.storages(n);
  if (structure.is_file) {
    keep(content);
  } else if (structure.is_header) {
    keep(program::number(content.size(), 8) + content);
  } else if (structure.deflated) {
    hand_made::Archive archive{.value = content, .storages = {}, .deflates = true};
    for (std::size_t i = 0; i < storages.size(); ++i)
      archive.storages.emplace_back(std::to_string(i), storages[i]);
    keep(archive.bytes());
  } else {
    bytes_ = program_archive("\x80\x02" + content + ".", storages);
  }
  stored_ = bytes_.size();
}

std::unique_ptr<Document> CostlyFile::open(const ReadLimits& limits, ReadMeter* meter) const {
  const DocumentOptions options{inert_, false, limits, meter};
  if (folder_ != nullptr) return open_path(folder_->file(kIndex), options);
  return open_document(open_memory(bytes_, "memory"), options);
}

void use_file(Use use, Document& document, ReadMeter& meter) {
  if (use == Use::open) {
    const Survey survey(document, meter);
    Walk walk(meter, [](const std::string&, const Tensor&) {});
    walk.run(survey.tree());
    return;
  }
  LoadOptions options;
  if (use == Use::load_a_part)
    options.filter = [](std::string_view name) { return name.size() % 2 == 0; };
  LeftInFile left;
  const Value tree = load_document(document, nullptr, options, meter, &left);
  if (use == Use::load || use == Use::load_a_part) return;
  document.let_go(meter);
  FileSupply supply(left, true);
  const char* const path = use == Use::to_pth ? "x.pth" : "x.safetensors";
  save_with(FileSystem::system(), {supply, meter}, tree, path, {.dry_run = true});
}

}  // namespace tenon
