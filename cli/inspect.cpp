// tenon inspect: what is in a checkpoint.
#include <tenon/tenon.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "commands.h"
#include "io/read/tensors.h"
#include "io/support/sha256.h"
#include "json.h"
#include "options.h"
#include "progress.h"
#include "stats.h"
#include "text.h"

namespace tenon::cli {

namespace {

constexpr char kHelp[] =
    R"(usage: tenon inspect [OPTIONS] [--] FILE

Lists the tensors of a checkpoint, and what else is in it. FILE is a file of torch.save or
safetensors, an index of several (*.index.json), or a folder with one. Nothing in it is executed.

  --json           as JSON, with everything that is no tensor under "values"
  --hash           with the SHA-256 of every tensor's elements; checks the checksums on the way
  --stats          with minimum, maximum, mean and deviation of the finite elements, and how many
                   are zero, infinite or NaN
  --filter RE      only tensors whose names match a regular expression (RE2's syntax)
  --inert          read the tensors of pickled objects and TorchScript archives, too
  --follow-links   the files an index names may be links out of its folder
  --raise-limits N reading may take N times the memory and steps that its size warrants

  tenon inspect model.pth
  tenon inspect --filter '^layers\.0\.' --stats model.safetensors
  tenon inspect --json --hash model.pth | jq '.tensors[].sha256'

Colours are left out when the output is no terminal, or NO_COLOR is set.
)";

struct Options {
  bool json = false, hash = false, stats = false, has_filter = false;
  OpenOptions open;
  std::string filter, file;
};

// A tensor that is listed, and what its elements were found to be.
struct Row {
  const TensorFacts* facts;
  std::size_t number;  // in the checkpoint
  std::uint64_t bytes;
  std::string hash = {};
  std::optional<Statistics> stats = {};
};

// What is listed.
struct Listing {
  std::vector<Row> rows;
  std::vector<const UninitializedFacts*> uninitialized;
};

Listing listing_of(const Checkpoint& file, const Options& options) {
  std::function<bool(std::string_view)> wanted;
  if (options.has_filter) wanted = matching(options.filter);
  Listing listing;
  for (const UninitializedFacts& facts : file.uninitialized()) {
    if (!wanted || wanted(facts.name)) listing.uninitialized.push_back(&facts);
  }
  std::vector<Row>& rows = listing.rows;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const TensorFacts& facts = file.tensors()[i];
    if (wanted && !wanted(facts.name)) continue;
    rows.push_back(
        {&facts, i, static_cast<std::uint64_t>(facts.shape.numel() * itemsize(facts.dtype))});
  }
  return listing;
}

// The row before this one with the same elements, if there is one: tied weights are read once.
std::vector<std::size_t> first_of_the_same(const std::vector<Row>& rows) {
  const auto before = [&](std::size_t a, std::size_t b) {
    const TensorFacts &x = *rows[a].facts, &y = *rows[b].facts;
    const auto one = std::tie(x.storage, x.dtype, x.offset, x.conj, x.neg),
               other = std::tie(y.storage, y.dtype, y.offset, y.conj, y.neg);
    if (one != other) return one < other;
    if (x.shape != y.shape) return std::ranges::lexicographical_compare(x.shape, y.shape);
    return std::ranges::lexicographical_compare(x.stride, y.stride);
  };
  std::set<std::size_t, decltype(before)> known(before);
  std::vector<std::size_t> out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool alone = rows[i].facts->storage == TensorFacts::kNoStorage;
    out[i] = alone ? i : *known.insert(i).first;
  }
  return out;
}

// The bytes between the first element of a tensor and its last, all of which are read.
std::uint64_t stretch_of(const TensorFacts& facts) {
  if (facts.shape.numel() == 0) return 0;
  std::int64_t last = 0;  // of a tensor that lies in its storage: it does not overflow
  for (std::size_t d = 0; d < facts.shape.size(); ++d)
    last += (facts.shape[d] - 1) * facts.stride[d];
  return static_cast<std::uint64_t>((last + 1) * itemsize(facts.dtype));
}

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

// About the memory that reading a tensor takes: nothing if it is read in pieces.
std::uint64_t held_by(const Row& row) {
  const TensorFacts& t = *row.facts;
  if (t.storage == TensorFacts::kNoStorage || row.bytes == 0) return 0;
  const bool packed = !t.conj && !t.neg && is_packed(t.shape, t.stride);
  // What may be the indices of a sparse tensor is looked at as a whole, and packed before.
  const std::uint64_t whole = t.dtype == int64 || t.dtype == int32 ? row.bytes : 0;
  return packed ? whole : checked_add(stretch_of(t), whole).value_or(kAny);
}

// How much the threads that read tensors hold at one time. What is more than that is read while the
// others hold nothing: a file may have many tensors that each reach over all of it.
class Budget {
 public:
  class Share {
   public:
    Share(Budget& of, std::uint64_t bytes) : of_(of), bytes_(bytes) {
      std::unique_lock lock(of_.mutex_);
      of_.given_back_.wait(
          lock, [&] { return of_.held_ == 0 || bytes_ <= kMost - std::min(of_.held_, kMost); });
      of_.held_ += bytes_;
    }
    ~Share() {
      {
        const std::lock_guard lock(of_.mutex_);
        of_.held_ -= bytes_;
      }
      of_.given_back_.notify_all();
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    Budget& of_;
    std::uint64_t bytes_;
  };

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{16} << 20;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::uint64_t held_ = 0;
};

std::uint64_t cost_of(const Row& row, bool stats) {
  const TensorFacts& t = *row.facts;
  if (t.storage == TensorFacts::kNoStorage) return 0;
  const std::uint64_t read = std::max(packing_cost(t.shape, t.stride, t.dtype), stretch_of(t));
  if (!stats) return read;
  // Looking at an element takes as long as reading so many bytes, however small it is.
  constexpr std::uint64_t kLooked = 16;
  const auto elements = static_cast<std::uint64_t>(t.shape.numel());
  return std::max(read, checked_mul(elements, kLooked).value_or(kAny));
}

// A small file may have many tensors that repeat few bytes.
void check_work(const Checkpoint& file, const std::vector<Row>& rows,
                const std::vector<std::size_t>& first, bool stats) {
  constexpr std::uint64_t kFree = std::uint64_t{1} << 29, kTimes = 64;
  std::uint64_t stored = 0, wanted = 0;
  for (const StorageFacts& storage : file.storages()) stored += storage.stored;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (first[i] == i) wanted = checked_add(wanted, cost_of(rows[i], stats)).value_or(kAny);
    if (wanted / kTimes > stored + kFree / kTimes) {
      throw FormatError(file.file(), 0,
                        "its tensors repeat " + std::to_string(stored) +
                            " bytes of storage too often to read them all: choose some with "
                            "--filter" +
                            (stats ? ", or leave --stats out" : ""));
    }
  }
}

// All elements are read before anything is printed: what is refused leaves nothing behind it on
// standard output.
void read_elements(const Checkpoint& file, const Options& options, std::vector<Row>& rows) {
  if (!options.hash && !options.stats) return;
  const std::vector<std::size_t> first = first_of_the_same(rows);
  check_work(file, rows, first, options.stats);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) total += first[i] == i ? rows[i].bytes : 0;
  Progress progress(options.hash ? "hashing" : "reading");
  std::atomic<std::uint64_t> done = 0;
  std::mutex telling;
  Budget budget;
  const auto read = [&](Row& row) {
    Sha256 hash;
    const bool counts = options.stats && StatisticsOf::has_any(row.facts->dtype);
    StatisticsOf stats(row.facts->dtype);
    const Budget::Share share(budget, held_by(row));
    file.read(row.number, [&](std::span<const std::byte> piece) {
      if (options.hash) hash.add(piece);
      if (counts) stats.add(piece);
      done += piece.size();
      if (!telling.try_lock()) return;
      const std::lock_guard lock(telling, std::adopt_lock);
      progress.show(done, total);
    });
    if (options.hash) row.hash = hash.hex();
    if (counts) row.stats = stats.get();
  };
  const auto is_deflated = [&](const Row& row) {
    if (row.facts->storage == TensorFacts::kNoStorage) return false;
    const StorageFacts& storage = file.storages()[row.facts->storage];
    return storage.deflated;
  };
  // Those in deflated storages, one storage behind the other: in turn, each would be inflated for
  // each of its tensors.
  std::vector<std::size_t> plain, deflated;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (first[i] == i) (is_deflated(rows[i]) ? deflated : plain).push_back(i);
  }
  std::sort(deflated.begin(), deflated.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(rows[a].facts->storage, a) < std::pair(rows[b].facts->storage, b);
  });
  parallel_for(0, static_cast<std::int64_t>(plain.size()), 1,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i)
                   read(rows[plain[static_cast<std::size_t>(i)]]);
               });
  for (const std::size_t i : deflated) read(rows[i]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].hash = rows[first[i]].hash;
    rows[i].stats = rows[first[i]].stats;
  }
}

void write_stats(JsonWriter& out, const Statistics& stats) {
  const std::uint64_t finite = stats.count - stats.nan - stats.infinite;
  out.raw("{");
  const std::pair<const char*, double> numbers[] = {{"min", stats.minimum},
                                                    {"max", stats.maximum},
                                                    {"mean", stats.mean},
                                                    {"std", stats.deviation}};
  for (const auto& [name, value] : numbers) {
    out.text(name);
    out.raw(": ");
    const bool known = finite > (std::string_view(name) == "std" ? 1 : 0);
    if (known)
      out.real(value);
    else
      out.raw("null");
    out.raw(", ");
  }
  out.raw("\"zeros\": " + std::to_string(stats.zero) + ", \"nan\": " + std::to_string(stats.nan) +
          ", \"inf\": " + std::to_string(stats.infinite) + "}");
}

void write_flags(JsonWriter& out, bool requires_grad, bool parameter) {
  out.raw(requires_grad ? ", \"requires_grad\": true" : ", \"requires_grad\": false");
  out.raw(parameter ? ", \"parameter\": true" : ", \"parameter\": false");
}

void write_json(const Checkpoint& file, const Options& options, const Listing& listing) {
  const std::vector<Row>& rows = listing.rows;
  JsonWriter out;
  const auto integer = [&](std::int64_t n) { out.number(n); };
  out.raw("{\"file\": ");
  out.text(file.file());
  out.raw(", \"format\": ");
  out.text(file.format());
  // A part of the file may have been hashed; then not all of it has been compared.
  const bool verified = options.hash && !options.has_filter && file.has_checksums();
  out.raw(verified ? ", \"verified\": true" : ", \"verified\": false");
  out.raw(", \"tensors\": [");
  for (const Row& row : rows) {
    const TensorFacts& t = *row.facts;
    out.raw(&row == rows.data() ? "\n  {\"name\": " : ",\n  {\"name\": ");
    out.text(t.name);
    out.raw(", \"dtype\": ");
    out.text(info(t.dtype).name);
    out.raw(", \"shape\": ");
    out.list(t.shape, integer);
    out.raw(", \"stride\": ");
    out.list(t.stride, integer);
    out.raw(", \"offset\": ");
    out.number(t.offset);
    out.raw(", \"device\": ");
    out.text(t.device);
    write_flags(out, t.requires_grad, t.parameter);
    out.raw(", \"bytes\": " + std::to_string(row.bytes));
    if (options.hash) {
      out.raw(", \"sha256\": ");
      out.text(row.hash);
    }
    if (row.stats) {
      out.raw(", \"stats\": ");
      write_stats(out, *row.stats);
    }
    out.raw("}");
  }
  out.raw("], \"uninitialized\": ");
  out.list(listing.uninitialized, [&](const UninitializedFacts* facts) {
    out.raw("{\"name\": ");
    out.text(facts->name);
    out.raw(", \"dtype\": ");
    out.text(info(facts->dtype).name);
    out.raw(", \"device\": ");
    out.text(facts->device);
    write_flags(out, facts->requires_grad, facts->parameter);
    out.raw("}");
  });
  out.raw(", \"values\": ");
  write_value(out, file.tree(), "");
  out.raw("}\n");
}

bool wants_colour() {
  const char* none = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (none == nullptr || *none == '\0') &&
         terminal != nullptr && std::string_view(terminal) != "dumb";
}

// Behind a tensor's dtype and shape, or what stands for it.
std::string place_of(const std::string& device, bool parameter) {
  return (device == "cpu" ? std::string() : "  " + escaped(device)) +
         (parameter ? "  parameter" : "");
}

void write_table(const Checkpoint& file, const Options& options, const Listing& listing) {
  const std::vector<Row>& rows = listing.rows;
  const bool colour = wants_colour();
  const char* const dim = colour ? "\x1b[2m" : "";
  const char* const plain = colour ? "\x1b[0m" : "";
  std::uint64_t bytes = 0;
  for (const Row& row : rows) {
    const TensorFacts& t = *row.facts;
    bytes += row.bytes;
    const std::string line = escaped(t.name) + "  " + std::string(info(t.dtype).name) + "  " +
                             t.shape.repr() + place_of(t.device, t.parameter);
    std::printf("%s", line.c_str());
    if (row.stats) {
      const Statistics& s = *row.stats;
      std::printf("  %smin %g  max %g  mean %g  std %g  zeros %llu%s", dim, s.minimum, s.maximum,
                  s.mean, s.deviation, static_cast<unsigned long long>(s.zero), plain);
      if (s.nan + s.infinite != 0) {
        std::printf("  %snan %llu  inf %llu%s", colour ? "\x1b[31m" : "",
                    static_cast<unsigned long long>(s.nan),
                    static_cast<unsigned long long>(s.infinite), plain);
      }
    }
    if (options.hash) std::printf("  %s%s%s", dim, row.hash.c_str(), plain);
    std::putchar('\n');
  }
  for (const UninitializedFacts* t : listing.uninitialized) {
    std::printf("%s  %s  uninitialised%s\n", escaped(t->name).c_str(),
                std::string(info(t->dtype).name).c_str(),
                place_of(t->device, t->parameter).c_str());
  }
  std::string facts;
  for (const auto& [name, value] : file.facts()) facts += ", " + name + " " + value;
  const std::string listed =
      options.has_filter ? std::to_string(rows.size()) + " of " : std::string();
  std::string open;
  if (const std::size_t all = file.uninitialized().size(); all != 0) {
    open = ", " +
           (options.has_filter ? std::to_string(listing.uninitialized.size()) + " of " : "") +
           std::to_string(all) + " uninitialised";
  }
  std::printf("%s: %s, %s%zu tensors, %s%s%s\n", escaped(file.file()).c_str(),
              std::string(file.format()).c_str(), listed.c_str(), file.tensors().size(),
              human_bytes(bytes).c_str(), open.c_str(), escaped(facts).c_str());
}

}  // namespace

int inspect(const std::vector<std::string>& arguments) {
  Options options;
  switch (parse("inspect", kHelp, arguments,
                {{"--json", &options.json},
                 {"--hash", &options.hash},
                 {"--stats", &options.stats},
                 {"--inert", &options.open.inert},
                 {"--follow-links", &options.open.follow_links},
                 {.name = "--raise-limits", .limits = &options.open.limits},
                 {"--filter", nullptr, &options.filter, &options.has_filter}},
                options.file)) {
    case Parsed::wrong: return kUsage;
    case Parsed::help: return written();
    case Parsed::yes: break;
  }
  if (options.has_filter) {
    try {
      matching(options.filter);
    } catch (const Error& error) {
      std::fprintf(stderr, "tenon: --filter: %s\n", escaped(error.what()).c_str());
      return kUsage;
    }
  }
  return guarded(options.file, [&] {
    const Checkpoint file = Checkpoint::open(options.file, options.open);
    // A small file may share much in many places.
    constexpr std::uint64_t kMost = std::uint64_t{32} << 20;
    if (options.json && text_size(file.tree(), kMost) > kMost) {
      throw FormatError(file.file(), 0,
                        "the values would be more than 32 MiB of text, or as much work, as the "
                        "file shares parts of them in many places or has many long integers: "
                        "leave --json out");
    }
    Listing listing = listing_of(file, options);
    read_elements(file, options, listing.rows);
    if (options.json)
      write_json(file, options, listing);
    else
      write_table(file, options, listing);
    return written();
  });
}

}  // namespace tenon::cli
