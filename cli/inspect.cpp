// tenon inspect: what is in a checkpoint.
#include <tenon/tenon.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>

#include "commands.h"
#include "io/sha256.h"

namespace tenon::cli {

namespace {

constexpr char kHelp[] =
    R"(usage: tenon inspect [--json] [--hash] [--inert] [--] FILE

Lists the tensors of a checkpoint, and what else is in it. Nothing in the file is executed.

  --json     as JSON
  --hash     with the SHA-256 of every tensor's elements; checks them on the way
  --inert    read the tensors of pickled objects and TorchScript archives, too

  tenon inspect model.pth
  tenon inspect --json --hash model.safetensors | jq '.tensors[].sha256'
)";

struct Options {
  bool json = false, hash = false, inert = false;
  std::string file;
};

// JSON into a buffer that is written when it is full.
class Writer {
 public:
  ~Writer() { flush(); }
  void raw(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() > 1 << 16) flush();
  }
  void text(std::string_view value) {
    buffer_ += '"';
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        buffer_ += '\\';
        buffer_ += c;
      } else if (byte < 0x20 || byte == 0x7f) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", byte);
        buffer_ += escape;
      } else {
        buffer_ += c;
      }
    }
    raw("\"");
  }
  void number(std::int64_t value) { raw(std::to_string(value)); }
  void flush() {
    std::fwrite(buffer_.data(), 1, buffer_.size(), stdout);
    buffer_.clear();
  }

 private:
  std::string buffer_;
};

template <class T, class F>
void list(Writer& out, const T& items, F&& one) {
  out.raw("[");
  bool first = true;
  for (const auto& item : items) {
    if (!first) out.raw(", ");
    first = false;
    one(item);
  }
  out.raw("]");
}

// What is no tensor. Tensors are named by where they are.
class Values {
 public:
  explicit Values(Writer& out) : out_(out) {}

  void write(const Value& value, const std::string& name) {
    switch (value.kind()) {
      case Value::Kind::none: out_.raw("null"); return;
      case Value::Kind::boolean: out_.raw(value.as_bool() ? "true" : "false"); return;
      case Value::Kind::integer: return integer(value);
      case Value::Kind::big_integer: return wrapped("int", value.digits());
      case Value::Kind::real: return real(value.as_real());
      case Value::Kind::complex:
        out_.raw("{\"complex\": [");
        real(value.as_complex().real());
        out_.raw(", ");
        real(value.as_complex().imag());
        out_.raw("]}");
        return;
      case Value::Kind::string: out_.text(value.as_string()); return;
      case Value::Kind::bytes: return bytes(value.as_bytes());
      case Value::Kind::list: return items(value, name);
      case Value::Kind::tuple: return in("tuple", [&] { items(value, name); });
      case Value::Kind::set: return in("set", [&] { items(value, name); });
      case Value::Kind::size:
        return in("size",
                  [&] { list(out_, value.as_size(), [&](std::int64_t n) { out_.number(n); }); });
      case Value::Kind::dtype: return wrapped("dtype", info(value.as_dtype()).name);
      case Value::Kind::device: return wrapped("device", value.as_device().str());
      case Value::Kind::tensor: return wrapped("tensor", name);
      case Value::Kind::dict: return dict(value, name);
      case Value::Kind::object: return object(value, name);
    }
  }

 private:
  void wrapped(std::string_view key, std::string_view text) {
    in(key, [&] { out_.text(text); });
  }
  template <class F>
  void in(std::string_view key, F&& inside) {
    out_.raw("{");
    out_.text(key);
    out_.raw(": ");
    inside();
    out_.raw("}");
  }
  void integer(const Value& value) {
    const std::int64_t number = value.as_int();
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    if (number >= -kExact && number <= kExact) return out_.number(number);
    wrapped("int", value.digits());
  }
  void real(double value) {
    if (std::isfinite(value)) return out_.raw(Value(value).repr());
    wrapped("float", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  }
  void bytes(std::string_view bytes) {
    std::string hex;
    for (const char c : bytes) {
      hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
      hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
    }
    wrapped("bytes", hex);
  }
  static std::string below(const std::string& name, std::string_view key) {
    return name.empty() ? std::string(key) : name + "." + std::string(key);
  }
  void items(const Value& value, const std::string& name) {
    std::size_t i = 0;
    list(out_, value.items(),
         [&](const Value& item) { write(item, below(name, std::to_string(i++))); });
  }
  static std::string key_text(const Value& key) {
    return key.kind() == Value::Kind::string ? key.as_string() : key.repr();
  }
  void dict(const Value& value, const std::string& name) {
    bool texts = true;
    for (const auto& [key, item] : value.entries())
      texts = texts && key.kind() == Value::Kind::string;
    if (texts) {
      out_.raw("{");
      bool first = true;
      for (const auto& [key, item] : value.entries()) {
        if (!first) out_.raw(", ");
        first = false;
        out_.text(key.as_string());
        out_.raw(": ");
        write(item, below(name, key.as_string()));
      }
      return out_.raw("}");
    }
    in("dict", [&] {
      list(out_, value.entries(), [&](const Value::Entry& entry) {
        out_.raw("[");
        write(entry.first, name);
        out_.raw(", ");
        write(entry.second, below(name, key_text(entry.first)));
        out_.raw("]");
      });
    });
  }
  void object(const Value& value, const std::string& name) {
    out_.raw("{\"global\": ");
    out_.text(value.object_name());
    out_.raw(", \"args\": ");
    items(value.object_arguments(), name);
    out_.raw(", \"state\": ");
    write(value.object_state(), name);
    out_.raw("}");
  }

  Writer& out_;
};

// How much text the values are, shared ones written out: a small file may share much in many places.
void check_size(const Checkpoint& file) {
  constexpr std::uint64_t kMost = std::uint64_t{64} << 20;
  std::uint64_t bytes = 0;
  const std::function<void(const Value&)> add = [&](const Value& value) {
    bytes += 16;
    switch (value.kind()) {
      case Value::Kind::string: bytes += value.as_string().size(); break;
      case Value::Kind::bytes: bytes += value.as_bytes().size() * 2; break;
      case Value::Kind::list:
      case Value::Kind::tuple:
      case Value::Kind::set:
        for (const Value& item : value.items()) {
          if (bytes <= kMost) add(item);
        }
        break;
      case Value::Kind::dict:
        for (const auto& [key, item] : value.entries()) {
          if (bytes > kMost) break;
          add(key);
          add(item);
        }
        break;
      case Value::Kind::object:
        add(value.object_arguments());
        add(value.object_state());
        break;
      default: break;
    }
  };
  add(file.tree());
  if (bytes > kMost)
    throw FormatError(file.file(), 0,
                      "the values would be more than 64 MiB of text, as the file shares parts of "
                      "them in many places");
}

void write_json(const Checkpoint& file, const Options& options) {
  check_size(file);
  // Hashed first: what is refused leaves nothing behind it on standard output.
  std::vector<std::string> hashes(options.hash ? file.tensors().size() : 0);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    Sha256 hash;
    file.read(i, [&](std::span<const std::byte> piece) { hash.add(piece); });
    hashes[i] = hash.hex();
  }
  Writer out;
  out.raw("{\"file\": ");
  out.text(file.file());
  out.raw(", \"format\": ");
  out.text(file.format());
  out.raw(", \"verified\": ");
  out.raw(options.hash && file.has_checksums() ? "true" : "false");
  out.raw(", \"tensors\": [");
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const TensorFacts& t = file.tensors()[i];
    out.raw(i == 0 ? "\n  {\"name\": " : ",\n  {\"name\": ");
    out.text(t.name);
    out.raw(", \"dtype\": ");
    out.text(info(t.dtype).name);
    out.raw(", \"shape\": ");
    list(out, t.shape, [&](std::int64_t n) { out.number(n); });
    out.raw(", \"stride\": ");
    list(out, t.stride, [&](std::int64_t n) { out.number(n); });
    out.raw(", \"offset\": ");
    out.number(t.offset);
    out.raw(", \"device\": ");
    out.text(t.device);
    out.raw(t.requires_grad ? ", \"requires_grad\": true" : ", \"requires_grad\": false");
    out.raw(t.parameter ? ", \"parameter\": true" : ", \"parameter\": false");
    out.raw(", \"bytes\": ");
    out.number(t.shape.numel() * itemsize(t.dtype));
    if (options.hash) {
      out.raw(", \"sha256\": ");
      out.text(hashes[i]);
    }
    out.raw("}");
  }
  out.raw("], \"values\": ");
  Values(out).write(file.tree(), "");
  out.raw("}\n");
}

void write_table(const Checkpoint& file, const Options& options) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const TensorFacts& t = file.tensors()[i];
    bytes += t.shape.numel() * itemsize(t.dtype);
    std::string line =
        escaped(t.name) + "  " + std::string(info(t.dtype).name) + "  " + t.shape.repr();
    if (t.device != "cpu") line += "  " + escaped(t.device);
    if (t.parameter) line += "  parameter";
    if (options.hash) {
      Sha256 hash;
      file.read(i, [&](std::span<const std::byte> piece) { hash.add(piece); });
      line += "  " + hash.hex();
    }
    std::printf("%s\n", line.c_str());
  }
  std::printf("%s: %s, %zu tensors, %lld bytes\n", escaped(file.file()).c_str(),
              std::string(file.format()).c_str(), file.tensors().size(),
              static_cast<long long>(bytes));
}

}  // namespace

int inspect(const std::vector<std::string>& arguments) {
  Options options;
  bool names_only = false;
  for (const std::string& argument : arguments) {
    if (!names_only && argument == "--") {
      names_only = true;
    } else if (!names_only && argument == "--help") {
      std::fputs(kHelp, stdout);
      return kYes;
    } else if (!names_only && argument == "--json") {
      options.json = true;
    } else if (!names_only && argument == "--hash") {
      options.hash = true;
    } else if (!names_only && argument == "--inert") {
      options.inert = true;
    } else if (!names_only && argument.starts_with("-")) {
      std::fprintf(stderr, "tenon: inspect has no option %s; tenon inspect --help lists them\n",
                   escaped(argument).c_str());
      return kUsage;
    } else if (options.file.empty()) {
      options.file = argument;
    } else {
      std::fputs("tenon: inspect takes one file\n", stderr);
      return kUsage;
    }
  }
  if (options.file.empty()) {
    std::fputs(kHelp, stderr);
    return kUsage;
  }
  return guarded(options.file, [&] {
    const Checkpoint file = Checkpoint::open(options.file, {.inert = options.inert});
    if (options.json)
      write_json(file, options);
    else
      write_table(file, options);
    return written();
  });
}

int verify(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1 || arguments[0] == "--help") {
    std::fputs(
        "usage: tenon verify FILE\n\nReads every byte and compares it with its checksum. Exit: 0 "
        "all match, or the format\nhas no checksums; 1 some do not; 3 the file is refused.\n",
        stdout);
    return arguments.size() == 1 ? kYes : kUsage;
  }
  const std::string& name = arguments[0];
  return guarded(name, [&] {
    try {
      const Checkpoint file = Checkpoint::open(name);
      file.verify();
      std::puts(file.has_checksums() ? "verified" : "unverified: no checksums");
      return written();
    } catch (const ChecksumError& error) {
      std::fprintf(stderr, "tenon: %s\n", escaped(error.what()).c_str());
      return kNo;
    }
  });
}

}  // namespace tenon::cli
