#include "costly_files.h"

#include <algorithm>
#include <ostream>

#include "io/file_payload.h"
#include "io/loader.h"
#include "io/saver.h"
#include "io/survey.h"
#include "io/walk.h"
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

std::vector<Structure> structures() {
  return {
      {"the tensors of an ordinary state dict",
       [](std::size_t n) {
         std::string program =
             "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage + "}(";
         for (std::size_t i = 0; i < n; ++i)
           program += program::text("model.layers." + std::to_string(i) + ".weight") + kTensor;
         return program + "u";
       }},
      {"a text in many places",
       [](std::size_t n) {
         return program::text(std::string(n, 'x')) + program::put(0) + "0" +
                list(n, program::get(0));
       }},
      {"a long key of many dicts",
       [](std::size_t n) {
         return program::text(std::string(n, 'k')) + program::put(0) + "0" +
                list(n, "}" + program::get(0) + "Ns");
       }},
      {"a list in many places",
       [](std::size_t n) {
         return list(n, "N") + program::put(0) + "0" + list(n, program::get(0));
       }},
      {"a dict that many others are made of",
       [](std::size_t n) {
         std::string program = "}(";
         for (std::size_t i = 0; i < n; ++i)
           program += program::integer(static_cast<std::int64_t>(i)) + "N";
         return program + "u" + program::put(0) + "0" +
                program::global("collections", "OrderedDict") + program::put(1) + "0" +
                list(n, program::get(1) + program::get(0) + "\x85R");
       }},
      {"a list that many sets are made of",
       [](std::size_t n) {
         std::string program = "](";
         for (std::size_t i = 0; i < n; ++i)
           program += program::integer(static_cast<std::int64_t>(i));
         return program + "e" + program::put(0) + "0" + program::global("builtins", "set") +
                program::put(1) + "0" + list(n, program::get(1) + program::get(0) + "\x85R");
       }},
      {"arguments shared by calls, level by level",
       [](std::size_t n) {
         return called_again(program::global("builtins", "frozenset"),
                             std::min<std::size_t>(n / 8, 150), "K\1\x85");
       }},
      {"a state that many parameters share",
       [](std::size_t n) {
         std::string state = "}(";
         for (std::size_t i = 0; i < n; ++i) state += program::text("a" + std::to_string(i)) + "N";
         return "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage + state + "u" +
                program::put(5) + "0" + kTensor + program::put(6) + "0" +
                program::global("torch._utils", "_rebuild_parameter_with_state") + program::put(7) +
                "0" +
                list(n, program::get(7) + "(" + program::get(6) + "\x89N" + program::get(5) + "tR");
       }},
      {"metadata that many tensors share",
       [](std::size_t n) {
         return "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage + "}(" +
                repeated(n, program::text("neg") + "\x88") + "u" + program::put(5) + "0" +
                list(n, program::get(1) + "(" + program::get(2) + "K\0"s + program::get(3) +
                            program::get(4) + "\x89N" + program::get(5) + "tR");
       }},
      {"sizes of 64 dimensions that many tensors share",
       [](std::size_t n) {
         return list_of_sizes(64) + program::put(3) + program::put(4) + "0" + kStorage + "(" +
                program::get(2) + "K\0"s + program::get(3) + program::get(4) + "\x89Nt" +
                program::put(5) + "0" + list(4 * n, program::get(1) + program::get(5) + "R");
       }},
      {"numbers of the memo that double",
       [](std::size_t n) {
         std::string program = "N";
         for (std::uint64_t at = 1; at < std::min<std::uint64_t>(n * n, 16 << 20); at = at * 2 + 1)
           program += program::put(static_cast<std::uint32_t>(at));
         return program;
       }},
      {"lists in lists, each twice",
       [](std::size_t n) {
         std::string program = "]" + program::put(0);
         for (std::uint32_t i = 0; i < std::min<std::size_t>(n, 900); ++i)
           program += "0](" + program::get(i) + program::get(i) + "e" + program::put(i + 1);
         return program;
       },
       false, true},
      {"tuples in the key of a dict, each twice",
       [](std::size_t n) {
         std::string program = "K\1\x85" + program::put(0);
         for (std::uint32_t i = 0; i < std::min<std::size_t>(n, 500); ++i)
           program += "0" + program::get(i) + program::get(i) + "\x86" + program::put(i + 1);
         return program + program::put(1000) + "0}" + program::get(1000) + "Ns";
       },
       false, true},
      {"long names of objects that are read inert",
       [](std::size_t n) {
         return program::text(std::string(std::min<std::size_t>(n, 1024), 'm')) + program::put(0) +
                "0" + program::text(std::string(std::min<std::size_t>(n, 1024), 'n')) +
                program::put(1) + "0" + list(n, program::get(0) + program::get(1) + "\x93)R");
       },
       true},
      {"a key of a storage on meta, long",
       [](std::size_t n) {
         const std::string key = program::text(std::string(std::min<std::size_t>(n, 4000), 'k'));
         return "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage + key +
                program::put(5) + "0" + program::text("meta") + program::put(6) + "0" +
                program::global("torch", "FloatStorage") + program::put(7) + "0" +
                program::text("storage") + program::put(8) + "0" +
                list(n, program::get(1) + "((" + program::get(8) + program::get(7) +
                            program::get(5) + program::get(6) + "K\1tQK\0"s + program::get(3) +
                            program::get(4) + "\x89NtR");
       },
       false, false, false, true},
      // What is written in every place, or for every tensor.
      {"attributes of tensors",
       [](std::size_t n) {
         std::string state = "}(";
         for (std::size_t i = 0; i < n; ++i) state += program::text("a" + std::to_string(i)) + "N";
         return "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage + "}" +
                program::text("a") +
                program::global("torch._utils", "_rebuild_parameter_with_state") + "(" + kTensor +
                "\x89N" + state + "utRs";
       }},
      {"a long name of a tensor that has many",
       [](std::size_t n) {
         std::string program = "K\1\x85"s + program::put(3) + program::put(4) + "0" + kStorage +
                               kTensor + program::put(5) + "0}(" +
                               program::text(std::string(n, 'k')) + program::get(5);
         for (std::size_t i = 0; i < n; ++i)
           program += program::text("n" + std::to_string(i)) + program::get(5);
         return program + "u";
       }},
      {"a large integer in many places",
       [](std::size_t n) {
         return "\x8b" + program::number(1000, 4) + std::string(1000, '\7') + program::put(0) +
                "0" + list(n, program::get(0));
       }},
      {"long names of tensors that overlap",
       [](std::size_t n) {
         std::string program =
             "K\1\x85"s + program::put(3) + "0K\2\x85"s + program::put(4) + "0" + kStorage + "}(";
         const std::string name(n / 8, 'o');
         for (std::size_t i = 0; i < n / 8; ++i)
           program += program::text(name + std::to_string(i)) + kTensor;
         return program + "u";
       }},
      {"tensors of many dimensions in a header",
       [](std::size_t n) {
         const std::string about = R"(":{"dtype":"U8","data_offsets":[0,0],"shape":[0)";
         std::string header = "{";
         for (std::size_t i = 0; i < n; ++i)
           header +=
               (i == 0 ? "\"" : ",\"") + std::to_string(i) + about + repeated(63, ",0") + "]}";
         return header + "}";
       },
       false, false, true},
      {"calls of a set without arguments",
       [](std::size_t n) {
         return program::global("builtins", "set") + program::put(0) + "0" +
                list(n, program::get(0) + ")R");
       }},
      {"sets in notes",
       [](std::size_t n) {
         std::string values = R"({\"tree\": [)";
         for (std::size_t i = 0; i < n; ++i)
           values += i == 0 ? R"({\"set\": []})" : R"(, {\"set\": []})";
         return R"({"__metadata__":{"format":"pt","tenon.values":")" + values + R"(]}"}})";
       },
       false, false, true},
      {"bytes in many places",
       [](std::size_t n) {
         return "B" + program::number(n, 4) + std::string(n, '\xff') + program::put(0) + "0" +
                list(n, program::get(0));
       }},
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

std::vector<std::byte> archive_of(const Structure& structure, std::size_t n) {
  if (structure.is_header) {
    const std::string header = structure.program(n);
    const std::string file = program::number(header.size(), 8) + header;
    const auto bytes = std::as_bytes(std::span(file));
    return {bytes.begin(), bytes.end()};
  }
  return program_archive("\x80\x02" + structure.program(n) + ".", {"\0\0\0\0"s});
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
  if (use == Use::load_a_part) return;
  document.let_go(meter);
  FileSupply supply(left, true);
  const char* const path = use == Use::to_pth ? "x.pth" : "x.safetensors";
  save_with(FileSystem::system(), {supply, meter}, tree, path, {.dry_run = true});
}

}  // namespace tenon
