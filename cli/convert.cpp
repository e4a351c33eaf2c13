// tenon convert: a checkpoint in another format, dtype, or under other names.
#include <sys/stat.h>
#include <tenon/tenon.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

#include "commands.h"
#include "options.h"
#include "progress.h"
#include "signals.h"
#include "text.h"

namespace tenon::cli {

namespace {

// Before and behind what is said of formats.
constexpr char kHelp[] =
    R"(usage: tenon convert [OPTIONS] [--] IN OUT

Writes a checkpoint in another format, dtype, or under other names, in little memory. Nothing in IN
is executed, and its bytes are compared with their checksums. OUT appears whole or not at all.

  --to FORMAT           )";
constexpr char kMoreHelp[] = R"(
  --shard-size SIZE     OUT is a folder of files of about that size, and an index (safetensors
                        unless --to says pth)
  --dtype DTYPE         floating tensors become float32, bfloat16, ...
  --dtype-for RE=DTYPE  those whose name in IN matches; may be given again, the first one counts
  --filter RE           only tensors whose name matches
  --path PATH           only what is there: model, state.0
  --strip-prefix TEXT   names without it
  --add-prefix TEXT     names with it
  --rename A=B          one name, or with --rename-re every match of A, \1 being a group in B
  --rename-re RE=TEXT
  --compact             of storages only the stretch that tensors use
  --strict              refuse what OUT's format cannot hold as it is
  --force               replace OUT if there is one
  --memory SIZE         about what may be used (1GiB)
  --any-size            also if OUT is much larger than IN: more than 64 times and 1 GiB
  --dry-run             print what would be done, and write nothing
  --no-sync             do not wait for the disk
  --follow-links        the files an index names may be links out of its folder
  --raise-limits N      reading IN may take N times the memory and steps that its size warrants

Sizes are bytes, or as 500MB, 5GB, 1GiB. What is no tensor goes into safetensors as JSON in its
metadata, where tenon finds it again.
Exit: 0 written, 2 wrong usage, 3 refused, 4 the system failed.

  tenon convert pytorch_model.bin model.safetensors
  tenon convert --dtype bfloat16 --dtype-for 'norm=float32' model.pth small.safetensors
  tenon convert --shard-size 5GB model.pth folder
)";

int usage(const std::string& what) {
  std::fprintf(stderr, "tenon: convert %s; tenon convert --help says more\n",
               escaped(what).c_str());
  return kUsage;
}

std::optional<std::uint64_t> size_in(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number > 0)) return std::nullopt;
  std::string unit;
  for (const char* at = end; at != text.data() + text.size(); ++at)
    unit.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(*at))));
  if (unit.ends_with('B')) unit.pop_back();
  constexpr std::string_view letters = "KMGT";
  double factor = 1;
  if (!unit.empty()) {
    const std::size_t power = letters.find(unit[0]);
    if (power == letters.npos || unit.size() > 2 || (unit.size() == 2 && unit[1] != 'I'))
      return std::nullopt;
    for (std::size_t i = 0; i <= power; ++i) factor *= unit.size() == 2 ? 1024 : 1000;
  }
  const double bytes = number * factor;
  if (bytes < 1 || bytes > 9e18) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::optional<DType> dtype_in(std::string_view text) {
  if (text.starts_with("torch.")) text.remove_prefix(6);
  const auto dtype = dtype_from_name(text);
  if (!dtype || !is_floating_point(*dtype) || is_opaque(*dtype)) return std::nullopt;
  return dtype;
}

struct Options {
  std::string in, out, to, shard_size, dtype, filter, path, strip, add, memory;
  bool has_to = false, has_shard_size = false, has_dtype = false, has_filter = false,
       has_path = false, has_strip = false, has_add = false, has_memory = false;
  std::vector<std::string> dtype_for, rename, rename_re;
  bool compact = false, strict = false, force = false, dry_run = false, no_sync = false,
       follow_links = false, any_size = false;
};

// "a", "a or b", "a, b or c"
std::string listed(const std::vector<std::string_view>& all, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != 0) text += i + 1 == all.size() ? last : ", ";
    text += all[i];
  }
  return text;
}

std::string format_names() {
  std::vector<std::string_view> names;
  for (const FileFormat format : FileFormat::all()) names.push_back(format.name());
  return listed(names, " or ");
}

// The text of --to, in lines of a hundred columns.
std::string help_about_formats() {
  std::string words = format_names() + ". Unless said, OUT's name decides: ";
  std::string endings;
  for (const FileFormat format : FileFormat::all()) {
    const auto own = format.endings();
    if (own.empty()) continue;
    // In front, so that .safetensors, the last by name, comes first.
    const std::string list = listed({own.begin(), own.end()}, " and ");
    endings = endings.empty() ? list : list + ", or " + endings;
  }
  words += endings;
  constexpr std::size_t kIndent = 24, kColumns = 100;
  std::string text;
  std::size_t column = kIndent;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    const bool fits = column == kIndent || column + 1 + (end - at) <= kColumns;
    if (column != kIndent) text += fits ? " " : "\n" + std::string(kIndent, ' ');
    column = (fits ? column + (column != kIndent) : kIndent) + (end - at);
    text += words.substr(at, end - at);
    at = end + 1;
  }
  return text;
}

// Empty, or what is wrong.
std::string understand(const Options& given, ConvertOptions& options) {
  SaveOptions& save = options.save;
  if (given.has_to) {
    save.format = FileFormat::named(given.to);
    if (!save.format) return "--to is " + format_names() + ", and not " + given.to;
  }
  if (given.has_shard_size) {
    const auto size = size_in(given.shard_size);
    if (!size) return "--shard-size is no size: " + given.shard_size;
    save.shard_size = *size;
    if (!given.has_to) save.format = FileFormat::of_shards();
  } else if (!given.has_to && !FileFormat::of_path(given.out)) {
    return "cannot tell the format from the name of " + given.out + ": say --to";
  }
  if (given.has_memory) {
    const auto size = size_in(given.memory);
    if (!size) return "--memory is no size: " + given.memory;
    options.memory = *size;
  }
  if (given.has_dtype) {
    options.dtype = dtype_in(given.dtype);
    if (!options.dtype) return "--dtype is no floating dtype: " + given.dtype;
  }
  const auto split = [](const std::string& text, std::size_t at) {
    return std::pair(text.substr(0, at), text.substr(at + 1));
  };
  for (const std::string& one : given.dtype_for) {
    const std::size_t equals = one.rfind('=');
    if (equals == one.npos) return "--dtype-for is RE=DTYPE, and not " + one;
    const auto [pattern, name] = split(one, equals);
    const auto dtype = dtype_in(name);
    if (!dtype) return "--dtype-for names no floating dtype: " + name;
    static_cast<void>(matching(pattern));  // throws if it is wrong
    options.dtype_for.emplace_back(pattern, *dtype);
  }
  if (given.has_filter) options.filter = matching(given.filter);
  options.path = given.path;
  for (const std::string& one : given.rename_re) {
    const std::size_t equals = one.find('=');
    if (equals == one.npos) return "--rename-re is RE=TEXT, and not " + one;
    const auto [pattern, text] = split(one, equals);
    options.rename.replace(pattern, text);
  }
  if (given.has_strip) options.rename.strip_prefix(given.strip);
  std::map<std::string, std::string, std::less<>> names;
  for (const std::string& one : given.rename) {
    const std::size_t equals = one.find('=');
    if (equals == one.npos) return "--rename is A=B, and not " + one;
    names.insert(split(one, equals));
  }
  if (!names.empty()) options.rename.rename(names);
  if (given.has_add) options.rename.add_prefix(given.add);
  save.compact = given.compact;
  save.strict = given.strict;
  save.durable = !given.no_sync;
  save.dry_run = given.dry_run;
  save.replace = given.force;
  options.follow_links = given.follow_links;
  options.any_size = given.any_size;
  return {};
}

// What would be replaced, if anything.
std::string in_the_way(const Options& given, const ConvertOptions& options) {
  struct stat facts{};
  std::string name = given.out;
  if (options.save.shard_size != 0) {
    while (name.size() > 1 && name.ends_with('/')) name.pop_back();
    if (::lstat(name.c_str(), &facts) != 0) return {};
    if (S_ISLNK(facts.st_mode)) return name;  // it would be written where it leads
    if (!S_ISDIR(facts.st_mode)) return {};
    name += "/" + options.save.format.value_or(FileFormat::of_shards()).index_name();
  }
  return ::lstat(name.c_str(), &facts) == 0 ? name : std::string();
}

void print_plan(const ConvertReport& report) {
  for (const ConvertedTensor& one : report.tensors) {
    std::string line = escaped(one.name);
    if (one.new_name != one.name) line += " -> " + escaped(one.new_name);
    line += "  " + std::string(info(one.dtype).name);
    if (one.new_dtype != one.dtype) line += " -> " + std::string(info(one.new_dtype).name);
    std::printf("%s  %s\n", line.c_str(),
                one.uninitialized ? "uninitialised" : human_bytes(one.bytes).c_str());
  }
  for (const std::string& file : report.files)
    std::printf("would write %s\n", escaped(file).c_str());
}

int refuse_to_replace(const std::string& name, bool shards) {
  struct stat facts{};
  const bool is_link = shards && ::lstat(name.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode);
  std::fprintf(stderr, "tenon: %s is %s\n", escaped(name).c_str(),
               is_link ? "a symbolic link; --force writes into the folder it leads to"
                       : "there already; --force replaces it");
  return kRefused;
}

int run(const Options& given, ConvertOptions& options) {
  StopOnSignal signals;
  Progress progress("converting");
  options.save.watch.stop = signals.token();
  options.save.watch.progress = [&](std::uint64_t done, std::uint64_t total) {
    signals.writing();
    progress.show(done, total);
  };
  try {
    const ConvertReport report = convert(given.in, given.out, options);
    for (const std::string& note : report.notes)
      std::fprintf(stderr, "tenon: note: %s\n", escaped(note).c_str());
    if (given.dry_run) print_plan(report);
    const auto open =
        std::count_if(report.tensors.begin(), report.tensors.end(),
                      [](const ConvertedTensor& tensor) { return tensor.uninitialized; });
    std::string more;
    if (open != 0) more += ", " + std::to_string(open) + " uninitialised";
    if (report.files.size() > 1) more += ", " + std::to_string(report.files.size()) + " files";
    std::printf("%s: %zu tensors, %s%s\n", escaped(given.out).c_str(),
                report.tensors.size() - static_cast<std::size_t>(open),
                human_bytes(report.bytes).c_str(), more.c_str());
    return written();
  } catch (const CancelledError&) {
    std::fputs("tenon: interrupted, and nothing was written\n", stderr);
    return 128 + signals.received();
  } catch (const IoError& error) {
    if (given.force || error.error_number() != EEXIST) throw;
    const std::string old = in_the_way(given, options);  // has it come since we looked?
    if (old.empty() || error.file() != old) throw;
    return refuse_to_replace(old, options.save.shard_size != 0);
  }
}

}  // namespace

int convert(const std::vector<std::string>& arguments) {
  Options given;
  ConvertOptions options;
  switch (parse("convert", kHelp + help_about_formats() + kMoreHelp, arguments,
                {{"--to", nullptr, &given.to, &given.has_to},
                 {"--shard-size", nullptr, &given.shard_size, &given.has_shard_size},
                 {"--dtype", nullptr, &given.dtype, &given.has_dtype},
                 {"--dtype-for", nullptr, nullptr, nullptr, &given.dtype_for},
                 {"--filter", nullptr, &given.filter, &given.has_filter},
                 {"--path", nullptr, &given.path, &given.has_path},
                 {"--strip-prefix", nullptr, &given.strip, &given.has_strip},
                 {"--add-prefix", nullptr, &given.add, &given.has_add},
                 {"--rename", nullptr, nullptr, nullptr, &given.rename},
                 {"--rename-re", nullptr, nullptr, nullptr, &given.rename_re},
                 {"--memory", nullptr, &given.memory, &given.has_memory},
                 {"--compact", &given.compact},
                 {"--strict", &given.strict},
                 {"--force", &given.force},
                 {"--dry-run", &given.dry_run},
                 {"--no-sync", &given.no_sync},
                 {"--follow-links", &given.follow_links},
                 {.name = "--raise-limits", .limits = &options.limits},
                 {"--any-size", &given.any_size}},
                {{"file to read", &given.in}, {"file to write", &given.out}})) {
    case Parsed::wrong: return kUsage;
    case Parsed::help: return written();
    case Parsed::yes: break;
  }
  return guarded(given.in, [&] {
    try {
      if (const std::string wrong = understand(given, options); !wrong.empty()) return usage(wrong);
    } catch (const ValueError& error) {
      return usage(error.what());
    }
    if (const std::string old = in_the_way(given, options);
        !old.empty() && !given.force && !given.dry_run)
      return refuse_to_replace(old, options.save.shard_size != 0);
    return run(given, options);
  });
}

}  // namespace tenon::cli
