#include "io/write/shards.h"

#include <fcntl.h>
#include <simdjson.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <set>

#include "base/text.h"
#include "io/formats/format_writer.h"
#include "io/formats/open.h"
#include "io/json/value_json.h"
#include "io/read/source.h"
#include "io/write/held_folder.h"
#include "io/write/outputs.h"
#include "io/write/temporary_file.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// The names of the files an index that is there already names.
std::set<std::string> named_by(const std::string& index) {
  std::set<std::string> files;
  std::shared_ptr<const Source> source;
  try {
    source = open_file(index);
  } catch (const IoError&) {
    return files;  // there is none
  }
  if (source->size() > kLargestIndex) return files;
  simdjson::padded_string text(static_cast<std::size_t>(source->size()));
  source->read_at(0, std::as_writable_bytes(std::span(text.data(), text.size())));
  simdjson::dom::parser parser;
  simdjson::dom::object map;
  if (parser.parse(text)[kWeightMap].get_object().get(map) != simdjson::SUCCESS) return files;
  for (const auto field : map) {
    std::string_view name;
    if (field.value.get_string().get(name) != simdjson::SUCCESS) continue;
    if (!name.empty() && name.find('/') == name.npos) files.emplace(name);
  }
  return files;
}

class ShardWriter {
  static constexpr std::size_t kMostHeld = 256;

 public:
  ShardWriter(FileSystem& system, const Saving& saving, std::string folder, const ShardNames& names,
              const SaveOptions& options)
      : system_(system),
        saving_(saving),
        folder_(without_slashes(std::move(folder))),
        names_(names),
        options_(options),
        inside_(system, folder_) {
    struct stat facts{};
    if (look(facts)) {
      if (S_ISLNK(facts.st_mode)) {
        throw IoError(
            "is a symbolic link, and following it was not allowed (allow replacing, or name the "
            "folder it leads to)",
            folder_, EEXIST);
      }
      if (!S_ISDIR(facts.st_mode)) throw IoError("cannot write shards into it", folder_, ENOTDIR);
      if (!options.dry_run) lock();
      return;
    }
    if (const int error = errno; error != ENOENT)
      throw IoError("cannot look at it", folder_, error);
    if (options.dry_run) return;
    if (uninterrupted([&] { return system_.mkdir(folder_, 0777); }) != 0) {
      const int error = errno;
      throw IoError("cannot make the folder", folder_, error);
    }
    made_folder_ = true;
    lock();
    if (options.durable) sync_parent();
  }
  ~ShardWriter() {
    if (!done_) {
      held_.clear();
      for (const std::string& file : written_) remove(file);
      remove_folder();
    }
    if (locked_ >= 0) system_.close(locked_);
  }
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  void write(const ShardsPlan& plan, SaveReport& report) {
    const std::vector<PlannedShard>& shards = plan.shards;
    const std::string index = in_folder(names_.index());
    if (!options_.dry_run) check_is_read(index);
    if (!options_.replace && !options_.dry_run) check_free(inside_, index);
    const std::set<std::string> before =
        options_.replace ? named_by(inside_.way_to(index)) : std::set<std::string>();
    const std::string tag = free_tag(shards.size());
    if (!options_.dry_run)
      remove_leftovers(inside_, inside_.way_to(folder_), std::string(names_.stem),
                       std::string(names_.ending));
    Meter meter(options_.watch, plan.payload, kSavingStopped);
    MeteredText text(saving_.meter);
    text += concat("{\n  \"", kIndexNotes, "\": {\n    \"", kTotalSize, "\": ", plan.tensors,
                   "\n  },\n  \"", kWeightMap, "\": {");
    bool any = false;
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const std::string name = names_.shard(tag, i, shards.size());
      report.bytes += write_shard(shards[i], name, meter);
      report.files.push_back(in_folder(name));
      for (const std::string& tensor : shards[i].names) {
        text += any ? ",\n    " : "\n    ";
        any = true;
        append_json_text(text, tensor);
        text += concat(": ", json_text(name));
      }
    }
    text += "\n  }\n}\n";
    report.files.push_back(index);
    report.bytes += text.size();
    if (options_.dry_run) return;
    saving_.supply.check_unchanged();
    publish();
    AtomicFile file(inside_, index, options_.durable, options_.replace);
    file.write_at(0, std::as_bytes(std::span(text.view())));
    file.sync();
    meter.finish();
    meter.stop_if_asked();
    check_folder();
    try {
      file.publish();
    } catch (...) {
      // Nobody confirms that the new index stays. Until then either may be found after a power cut,
      // and needs its files.
      done_ = file.is_published();
      throw;
    }
    done_ = true;
    std::set<std::string> now;
    for (std::size_t i = 0; i < shards.size(); ++i) now.insert(names_.shard(tag, i, shards.size()));
    for (const std::string& old : before) {
      if (!now.contains(old) && names_.is_shard(old)) remove(in_folder(old));
    }
  }

 private:
  static std::string without_slashes(std::string folder) {
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    return folder;
  }
  // A link is followed by who may replace; not where we have made a folder.
  bool follows_link() const noexcept {
    return (options_.replace || options_.dry_run) && !made_folder_;
  }
  // What has the folder's name. False and errno if it cannot be told.
  bool look(struct stat& facts) const {
    return uninterrupted([&] {
             return follows_link() ? system_.stat(folder_, &facts) : system_.lstat(folder_, &facts);
           }) == 0;
  }
  // The folder would go on being what it was.
  void check_is_read(const std::string& index) {
    for (const std::string_view name : names_in_folder()) {
      const std::string first = in_folder(std::string(name));
      if (first == index) return;
      struct stat facts{};
      if (uninterrupted([&] { return inside_.lstat(first, &facts); }) != 0) continue;
      throw IoError(
          "readers of the folder take this file and not the shards (remove it, or write the shards "
          "into another folder)",
          first, EEXIST);
    }
  }
  // Nobody looks for shards in a folder that has lost its name.
  void check_folder() const {
    struct stat facts{};
    if (!look(facts)) {
      const int error = errno;
      throw IoError("cannot look at the folder", folder_, error);
    }
    if (!inside_.is_held(facts))
      throw IoError("is another folder than the shards were written into", folder_, ESTALE);
  }
  // One writer at a time: two would take each other's names. File systems without locks have to
  // trust.
  void lock() {
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follows_link() ? 0 : O_NOFOLLOW);
    locked_ = uninterrupted([&] { return system_.open(folder_, flags, 0); });
    if (locked_ < 0) fail("cannot open the folder", errno);
    if (!inside_.hold(locked_)) fail("cannot look at the folder", errno);
    const Lock lock = try_lock(system_, locked_);
    if (lock == Lock::of_another) fail("somebody else is writing shards into it", EBUSY);
    if (lock == Lock::failed) fail("cannot lock the folder", errno);
  }
  [[noreturn]] void fail(const char* what, int error) {
    if (locked_ >= 0) system_.close(locked_);
    remove_folder();
    throw IoError(what, folder_, error);
  }
  // Only ours: somebody may have put another in its place.
  void remove_folder() const {
    if (!made_folder_) return;
    struct stat facts{};
    const bool known = ::lstat(folder_.c_str(), &facts) == 0;
    if (inside_.holds() && !(known && inside_.is_held(facts))) return;
    ::rmdir(folder_.c_str());
  }
  // That there is a new folder has to last, too.
  void sync_parent() {
    const std::size_t slash = folder_.rfind('/');
    const std::string parent = slash == folder_.npos ? "."
                               : slash == 0          ? "/"
                                                     : folder_.substr(0, slash);
    if (const int error = sync_folder(system_, parent); error != 0)
      fail("cannot bring to the disk that there is a folder", error);
  }
  // Its bytes.
  std::uint64_t write_shard(const PlannedShard& shard, const std::string& name, Meter& meter) {
    const PassingCharge passing(saving_.meter);
    const FilePlan plan = shard.plan(name);
    check_memory(plan, saving_.memory);
    if (options_.dry_run) return plan.size;
    // Each holds a descriptor.
    if (held_.size() == kMostHeld) publish();
    held_.push_back(
        // The name was free: whatever has it by now is not ours to replace, nor to follow.
        std::make_unique<AtomicFile>(inside_, in_folder(name), options_.durable, false));
    AtomicFile& file = *held_.back();
    if (options_.durable) file.reserve(plan.size);
    write_file(plan, AtomicOutput(file), meter);
    meter.stop_if_asked();
    file.sync();
    return plan.size;
  }
  void publish() {
    check_folder();
    for (const auto& file : held_) {
      written_.push_back(file->path());
      try {
        file->publish();
      } catch (...) {
        // What has the name is somebody else's.
        if (!file->is_published()) written_.pop_back();
        throw;
      }
    }
    held_.clear();
  }
  // What cannot be removed stays, named by no index.
  void remove(const std::string& path) {
    uninterrupted([&] { return inside_.unlink(path); });
  }
  std::string in_folder(const std::string& name) const { return concat(folder_, "/", name); }
  // Nothing, if no name is taken; else what makes them free.
  std::string free_tag(std::size_t count) {
    for (int attempt = 1;; ++attempt) {
      const std::string tag = attempt == 1 ? "" : concat("-v", attempt);
      bool taken = false;
      for (std::size_t i = 0; i < count && !taken; ++i) {
        struct stat facts{};
        const std::string path = in_folder(names_.shard(tag, i, count));
        taken = uninterrupted([&] { return inside_.lstat(path, &facts); }) == 0;
        // Not to be known is not to be free: what is there may be another index's.
        const int error = taken ? ENOENT : errno;
        if (error != ENOENT) throw IoError("cannot look at it", path, error);
      }
      if (!taken) return tag;
    }
  }

  FileSystem& system_;
  const Saving& saving_;
  std::string folder_;
  ShardNames names_;
  const SaveOptions& options_;
  bool made_folder_ = false, done_ = false;
  HeldFolder inside_;
  int locked_ = -1;                                // the folder
  std::vector<std::unique_ptr<AtomicFile>> held_;  // written, and without their names yet
  std::vector<std::string> written_;
};

}  // namespace

SaveReport save_shards(FileSystem& system, const Saving& saving, const Value& tree,
                       const Format& format, const std::string& folder,
                       const SaveOptions& options) {
  const FormatWriter& writer = *format.writer;
  if (writer.plan_shards == nullptr) {
    throw ValueError(concat("save: ", format.name,
                            " is written as one file: leave out .shard_size, or name another "
                            "format"));
  }
  ShardsPlan plan = writer.plan_shards(tree, saving, options);
  SaveReport report;
  report.notes = std::move(plan.notes);
  if (!options.dry_run) begin_saving(options.watch, plan.payload);
  ShardWriter(system, saving, folder, writer.shards, options).write(plan, report);
  return report;
}

}  // namespace tenon
