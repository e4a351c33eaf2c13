// tenon extract: one tensor of a checkpoint, as a file of NumPy or as bytes.
#include <fcntl.h>
#include <sys/stat.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "commands.h"
#include "io/write/atomic_file.h"
#include "npy.h"
#include "options.h"
#include "progress.h"
#include "signals.h"
#include "text.h"

namespace tenon::cli {

namespace {

constexpr char kHelp[] =
    R"(usage: tenon extract [OPTIONS] [--] FILE NAME

Writes one tensor of a checkpoint, by the name that `tenon inspect` lists. Nothing in the file is
executed, and the bytes are compared with their checksum.

  -o OUT           where to: a name that ends in .npy gives a file for numpy.load, any other the
                   elements alone, packed in C order, little-endian. Without it, or with -o -, a
                   .npy goes to standard output
  --raw            the elements alone, whatever OUT is called
  --force          replace OUT if there is one
  --inert          accept pickled objects and TorchScript archives, too
  --follow-links   the files an index names may be links out of its folder
  --raise-limits N reading may take N times the memory and steps that its size warrants

OUT is there when all of it is written, or not at all. NumPy has no bfloat16, float8 or quantised
numbers: --raw writes their bytes.
Exit: 0 written, 2 wrong usage, 3 refused, 4 the system failed.

  tenon extract model.pth layers.0.weight -o weight.npy
  tenon extract --raw model.safetensors layers.0.weight | sha256sum
)";

struct Options {
  bool raw = false, force = false, has_out = false;
  OpenOptions open;
  std::string file, name, out;

  bool to_stdout() const { return !has_out || out == "-"; }
  bool as_npy() const { return !raw && (to_stdout() || out.ends_with(".npy")); }
};

int refuse(const std::string& file, const std::string& why) {
  std::fprintf(stderr, "tenon: %s\n", escaped(file + ": " + why).c_str());
  return kRefused;
}

using Sink = std::function<void(std::span<const std::byte>)>;

// A signal asked for the end.
struct Interrupted {
  int signal;
};

// Makes a file of what the function writes. It has its name when it is whole; if anything is thrown
// there is none, and what had the name before still has it. Unless forced, what has got the name
// meanwhile keeps it.
void write_file(const Options& options, StopOnSignal& signals,
                const std::function<void(const Sink&)>& write) {
  signals.writing();
  AtomicFile file(FileSystem::system(), options.out, true, options.force);
  std::uint64_t at = 0;
  const auto stop_if_asked = [&] {
    if (signals.received() != 0) throw Interrupted{signals.received()};
  };
  write([&](std::span<const std::byte> bytes) {
    stop_if_asked();
    file.write_at(at, bytes);
    at += bytes.size();
  });
  stop_if_asked();
  file.commit();
}

// How many letters must change to make one name the other; more than `most` if that many do.
std::size_t distance(std::string_view a, std::string_view b, std::size_t most) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return most + 1;
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    std::size_t least = row[0];
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
      least = std::min(least, row[j + 1]);
    }
    if (least > most) return most + 1;
  }
  return row.back();
}

// How unlike two names are: spelled almost the same, with a prefix too many or too few, or a part
// of what was asked for. kFar if they have nothing in common.
constexpr std::size_t kFar = 100;
std::size_t unlikeness(std::string_view wanted, std::string_view name) {
  if (wanted.empty() || name.empty()) return kFar;
  const std::size_t most = std::min<std::size_t>(3, wanted.size() / 3);
  constexpr std::size_t kLongest = 256;  // more is nobody's spelling mistake, and slow
  if (wanted.size() <= kLongest) {
    if (const std::size_t n = distance(wanted, name, most); n <= most) return n;
  }
  const auto follows = [](std::string_view whole, std::string_view end) {
    return whole.size() > end.size() && whole.ends_with(end) &&
           whole[whole.size() - end.size() - 1] == '.';
  };
  if (follows(name, wanted) || follows(wanted, name)) return 10;
  if (name.starts_with(wanted) && name[wanted.size()] == '.') return 11;
  return kFar;
}

// "; it has 'a' and 'b'"
std::string nearest(const Checkpoint& file, std::string_view wanted) {
  constexpr std::size_t kShown = 3;
  constexpr std::size_t kLookedAt = 20'000;
  std::vector<std::pair<std::size_t, std::size_t>> near;  // unlikeness and number
  for (std::size_t i = 0; i < std::min(file.tensors().size(), kLookedAt); ++i) {
    if (const std::size_t n = unlikeness(wanted, file.tensors()[i].name); n < kFar)
      near.emplace_back(n, i);
  }
  if (near.empty()) return "; tenon inspect lists what it has";
  std::sort(near.begin(), near.end());
  const std::size_t shown = std::min(near.size(), kShown);
  std::string out;
  for (std::size_t k = 0; k < shown; ++k) {
    out += k == 0 ? "; it has " : k + 1 == shown ? " and " : ", ";
    out += Value(file.tensors()[near[k].second].name).repr();
  }
  return out;
}

constexpr char kIsThere[] = "is there already; --force replaces it";

// Why OUT cannot be written; empty if it can.
std::string in_the_way(const Options& options) {
  struct stat there{};
  if (::lstat(options.out.c_str(), &there) != 0) return {};
  if (!S_ISREG(there.st_mode)) return "is there already, and is not a regular file";
  if (!options.force) return kIsThere;
  return {};
}

bool is_part_of(const Checkpoint& file, const Options& options) {
  std::error_code none;
  if (!std::filesystem::exists(options.out, none)) return false;
  const auto same = [&](std::string_view other) {
    return std::filesystem::equivalent(options.out, other, none);
  };
  if (same(options.file)) return true;
  std::string_view last;
  for (const StorageFacts& storage : file.storages()) {
    if (storage.file == last) continue;
    last = storage.file;
    if (same(last)) return true;
  }
  return false;
}

int extract(const Options& options) {
  // Before anything starts threads, which inherit what it blocks. Standard output needs no care:
  // what a pipe has taken cannot be removed.
  std::optional<StopOnSignal> signals;
  if (!options.to_stdout()) signals.emplace();
  if (!options.to_stdout()) {
    if (const std::string why = in_the_way(options); !why.empty()) return refuse(options.out, why);
  }
  const Checkpoint file = Checkpoint::open(options.file, options.open);
  const auto number = file.find(options.name);
  if (!number) {
    for (const UninitializedFacts& open : file.uninitialized()) {
      if (open.name == options.name)
        return refuse(file.file(), Value(options.name).repr() +
                                       " is uninitialised: it has neither shape nor elements yet");
    }
    return refuse(file.file(),
                  "there is no tensor " + Value(options.name).repr() + nearest(file, options.name));
  }
  if (!options.to_stdout() && is_part_of(file, options))
    return refuse(options.out, "is a file of the checkpoint itself");

  const TensorFacts& facts = file.tensors()[*number];
  const std::string shown = Value(options.name).repr();
  const std::string_view descr = npy_descr(facts.dtype);
  if (options.as_npy() && descr.empty()) {
    return refuse(file.file(), shown + " is " + std::string(info(facts.dtype).name) +
                                   ", which NumPy does not have; --raw writes its bytes");
  }
  const auto total = static_cast<std::uint64_t>(facts.shape.numel() * itemsize(facts.dtype));
  if (total > 0 && (facts.storage == TensorFacts::kNoStorage || facts.device == "meta"))
    return refuse(file.file(), shown + " is a meta tensor, which has no elements in the file");

  Progress progress("extracting");
  const auto read = [&](const Sink& sink) {
    std::uint64_t done = 0;
    file.read(*number, [&](std::span<const std::byte> piece) {
      sink(piece);
      done += piece.size();
      progress.show(done, total);
    });
    if (done != total) throw FormatError(file.file(), 0, shown + " has no elements in the file");
  };
  const auto write = [&](const Sink& sink) {
    if (options.as_npy()) {
      const std::string header = npy_header(descr, facts.shape);
      sink(std::as_bytes(std::span(header)));
    }
    read(sink);
  };
  if (!options.to_stdout()) {
    try {
      write_file(options, *signals, write);
    } catch (const Interrupted& interrupted) {
      std::fputs("tenon: interrupted, and nothing was written\n", stderr);
      return 128 + interrupted.signal;
    } catch (const IoError& error) {
      if (options.force || error.error_number() != EEXIST) throw;
      return refuse(options.out, kIsThere);
    }
    return kYes;
  }
  // What a pipe has taken cannot be taken back: the checksum is compared before.
  if (file.has_checksums()) read([](std::span<const std::byte>) {});
  try {
    std::uint64_t at = 0;
    write([&](std::span<const std::byte> bytes) {
      write_in_order(FileSystem::system(), STDOUT_FILENO, bytes, at, "standard output");
      at += bytes.size();
    });
  } catch (const IoError& error) {
    if (error.error_number() != EPIPE) throw;  // else the reader has seen enough
  }
  return kYes;
}

}  // namespace

int extract(const std::vector<std::string>& arguments) {
  Options options;
  switch (parse("extract", kHelp, arguments,
                {{"-o", nullptr, &options.out, &options.has_out},
                 {"--raw", &options.raw},
                 {"--force", &options.force},
                 {"--inert", &options.open.inert},
                 {"--follow-links", &options.open.follow_links},
                 {.name = "--raise-limits", .limits = &options.open.limits}},
                // A file that is one tensor and nothing else has it under the empty name.
                {{"file", &options.file}, {"tensor name", &options.name, true}})) {
    case Parsed::wrong: return kUsage;
    case Parsed::help: return written();
    case Parsed::yes: break;
  }
  if (options.has_out && options.out.empty()) {
    std::fputs("tenon: extract -o needs a name that is not empty\n", stderr);
    return kUsage;
  }
  if (options.to_stdout() && ::isatty(STDOUT_FILENO) == 1) {
    std::fputs("tenon: extract writes bytes, and standard output is a terminal; use -o OUT\n",
               stderr);
    return kUsage;
  }
  return guarded(options.file, [&] { return extract(options); });
}

}  // namespace tenon::cli
