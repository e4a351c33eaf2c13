// Every system call of a whole save fails, one after the other.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "io/faulty_file_system.h"
#include "io/same_values.h"
#include "io/write/saver.h"
#include "support/matchers.h"
#include "support/temp_dir.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Kind {
  const char* name;
  FileFormat format;
  std::uint64_t shard_size;
};

class SaveFaults : public testing::TestWithParam<Kind> {
 public:
  // In memory where that can be: these are thousands of saves.
  static void SetUpTestSuite() {
    if (const char* before = std::getenv("TMPDIR")) temporary_ = before;
    if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 1);
  }
  static void TearDownTestSuite() {
    if (temporary_)
      ::setenv("TMPDIR", temporary_->c_str(), 1);
    else
      ::unsetenv("TMPDIR");
  }

 protected:
  inline static std::optional<std::string> temporary_;
  static std::size_t open_descriptors() {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++n;
    return n;
  }
  static std::set<std::string> names_in(const std::string& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (!entry.is_directory()) names.insert(fs::relative(entry.path(), folder));
    return names;
  }
  static Value state(double fill) {
    return Value::dict({{"small", full({10}, fill)},
                        {"large", full({170, 100}, fill)},
                        {"other", full({170, 100}, fill + 1)}});
  }
  SaveOptions options(bool durable) const {
    return {.format = GetParam().format, .shard_size = GetParam().shard_size, .durable = durable};
  }
  static SaveReport save_by(FileSystem& system, const Value& value, const std::string& path,
                            const SaveOptions& options) {
    MemorySupply supply;
    ReadMeter meter = meter_of_saving(value, format_of(path, options));
    return save_with(system, {supply, meter}, value, path, options);
  }
  static std::string differ(double fill, const std::string& path) {
    return SameValues().differ(state(fill), load(path));
  }

  // The k-th call, or all from there on. True if there was one.
  bool with_a_fault(int k, int error, bool from_there_on, bool durable, bool over_another) const {
    const TempDir dir;
    const std::string path = dir.file("x");
    SCOPED_TRACE("call " + std::to_string(k) + ", " + std::strerror(error) +
                 (from_there_on ? " from there on" : "") + (durable ? "" : ", not durable") +
                 (over_another ? ", over another" : ""));
    if (over_another) save(state(1), path, options(false));
    const auto before = names_in(dir.file(""));
    const std::size_t descriptors = open_descriptors();
    int call_number = 0, renames = 0;
    std::string failed;
    bool unlink_failed = false;
    FaultyFileSystem system([&](std::string_view call) {
      ++call_number;
      if (from_there_on ? call_number < k : call_number != k) {
        renames += call == "rename" || call == "renameat2" ? 1 : 0;
        return 0;
      }
      if (failed.empty()) failed = call;
      unlink_failed = unlink_failed || call == "unlink";
      return error;
    });
    bool threw = false;
    std::string said;
    try {
      save_by(system, state(2), path, options(durable));
    } catch (const IoError& problem) {
      threw = true;
      said = problem.what();
      EXPECT_EQ(problem.error_number(), error) << said;
      EXPECT_THAT(said, HasSubstr(std::strerror(error)));
      EXPECT_THAT(problem.file(), testing::StartsWith(path));
    }
    EXPECT_EQ(open_descriptors(), descriptors) << failed;
    const int files = GetParam().shard_size == 0 ? 1 : 4;  // three shards and the index
    const bool is_new = renames == files;
    EXPECT_TRUE(threw || is_new) << failed;
    if (threw && is_new) {
      EXPECT_THAT(said, HasSubstr("is there, whole")) << failed;
    }
    if (is_new) {
      EXPECT_EQ(differ(2, path), "") << failed;
    } else if (over_another) {
      EXPECT_EQ(differ(1, path), "") << failed;
    }
    if (!is_new && !unlink_failed) {
      EXPECT_EQ(names_in(dir.file("")), before) << failed << ": " << said;
      EXPECT_EQ(fs::exists(path), over_another) << failed;
    }
    // After EINTR all goes on, but where asking again would be wrong.
    if (error == EINTR) {
      EXPECT_EQ(threw, failed == "fsync" || (failed == "close" && !is_new && threw))
          << failed << ": " << said;
    }
    // Whatever was left, the next one removes, and succeeds.
    save(state(3), path, options(false));
    EXPECT_EQ(differ(3, path), "") << failed;
    for (const std::string& name : names_in(dir.file("")))
      EXPECT_EQ(name.find("tenon-tmp"), name.npos) << name << " after " << failed;
    return !failed.empty();
  }
};

TEST_P(SaveFaults, LeaveWhatWasThereAndNoLitter) {
  for (const int error : {ENOSPC, EIO, EINTR}) {
    for (const bool from_there_on : {false, true}) {
      if (error == EINTR && from_there_on) continue;  // it would wait for the last signal
      for (const bool durable : {true, false}) {
        for (const bool over_another : {true, false}) {
          int k = 1;
          while (with_a_fault(k, error, from_there_on, durable, over_another)) {
            ++k;
            ASSERT_LT(k, 500);
          }
          EXPECT_GT(k, 12);
        }
      }
    }
  }
}

TEST_P(SaveFaults, AWriteThatIsCutGoesOn) {
  const TempDir dir;
  for (int k = 1; k < 6; ++k) {
    for (const bool from_there_on : {false, true}) {
      int writes = 0;
      FaultyFileSystem system([&](std::string_view call) {
        if (call != "pwrite") return 0;
        ++writes;
        return (from_there_on ? writes >= k : writes == k) ? EIO : 0;
      });
      system.cut_writes = true;
      save_by(system, state(k), dir.file("x"), options(true));
      EXPECT_EQ(differ(k, dir.file("x")), "");
    }
  }
}

TEST_P(SaveFaults, AreToldWithTheStepAndTheFile) {
  const TempDir dir;
  const std::string path = dir.file("x");
  save(state(1), path, options(false));
  for (const auto& [call, message] : std::vector<std::pair<std::string, std::string>>{
           {"open", GetParam().shard_size != 0 ? "cannot open the folder"
                                               : "cannot create the temporary file"},
           {"fallocate", "cannot reserve"},
           {"pwrite", "cannot write at byte"},
           {"fsync", "cannot bring it to the disk"},
           {"rename", "cannot replace it with the new file"}}) {
    FaultyFileSystem system(always(call, EIO));
    expect_error<IoError>([&] { save_by(system, state(2), path, options(true)); }, path, message,
                          "Input/output error");
  }
  EXPECT_EQ(differ(1, path), "");
}

INSTANTIATE_TEST_SUITE_P(Save, SaveFaults,
                         testing::Values(Kind{"pth", FileFormat::pth, 0},
                                         Kind{"safetensors", FileFormat::safetensors, 0},
                                         Kind{"pth_shards", FileFormat::pth, 50'000},
                                         Kind{"safetensors_shards", FileFormat::safetensors,
                                              50'000}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace tenon
