#include "tenon/storage.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "base/mapping.h"
#include "core/mapped_storage.h"
#include "support/matchers.h"
#include "support/temp_dir.h"

namespace tenon {
namespace {

TEST(Storage, OwnedBytesAreAligned) {
  for (const std::size_t n : {0U, 1U, 63U, 64U, 1000U, 100'000U, 5'000'000U}) {
    const Storage storage = Storage::allocate(n);
    EXPECT_EQ(storage.nbytes(), n);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(storage.data()) % Storage::kAlignment, 0U);
    std::memset(storage.data(), 1, n);
    const Storage zeroed = Storage::allocate_zeroed(n);
    for (std::size_t i = 0; i < n; i += 997)
      EXPECT_EQ(static_cast<const char*>(zeroed.data())[i], 0);
  }
}

TEST(Storage, CopiesShareTheBytesAndTheLastOneFreesThem) {
  const std::int64_t before = memory_allocated();
  Storage a = Storage::allocate(1000);
  Storage b = a;
  EXPECT_TRUE(a.is(b));
  EXPECT_EQ(a.use_count(), 2);
  EXPECT_EQ(memory_allocated(), before + 1000);
  a = Storage();
  EXPECT_EQ(memory_allocated(), before + 1000);
  b = Storage();
  EXPECT_EQ(memory_allocated(), before);
}

TEST(Storage, ThePeakIsRememberedUntilItIsReset) {
  reset_peak_memory_stats();
  const std::int64_t before = memory_allocated();
  EXPECT_EQ(max_memory_allocated(), before);
  {
    const Storage storage = Storage::allocate(12'345);
  }
  EXPECT_EQ(memory_allocated(), before);
  EXPECT_EQ(max_memory_allocated(), before + 12'345);
  reset_peak_memory_stats();
  EXPECT_EQ(max_memory_allocated(), before);
}

TEST(Storage, AccountingHoldsWhenThreadsAllocateAndFree) {
  const std::int64_t before = memory_allocated();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 2000; ++i) Storage::allocate(static_cast<std::size_t>(i));
      });
    }
  }
  EXPECT_EQ(memory_allocated(), before);
}

TEST(Storage, BorrowedBytesAreGivenBackOnce) {
  int given_back = 0;
  char bytes[16];
  const std::int64_t before = memory_allocated();
  {
    const Storage storage = Storage::borrow(bytes, sizeof bytes, [&](void* data) {
      EXPECT_EQ(data, bytes);
      ++given_back;
    });
    const Storage another = storage;
    EXPECT_EQ(storage.data(), bytes);
    EXPECT_EQ(memory_allocated(), before);
  }
  EXPECT_EQ(given_back, 1);
  {
    const Storage unowned = Storage::borrow(bytes, sizeof bytes);
  }
}

TEST(Storage, OnMetaThereAreNoBytesHoweverMany) {
  const std::int64_t before = memory_allocated();
  const Storage storage = Storage::allocate(std::size_t{1} << 62, Device::meta());
  EXPECT_EQ(storage.nbytes(), std::size_t{1} << 62);
  EXPECT_EQ(storage.data(), nullptr);
  EXPECT_EQ(storage.device(), Device::meta());
  EXPECT_EQ(memory_allocated(), before);
}

TEST(Storage, AbsurdSizesAreAnErrorWithTheBytesAskedFor) {
  for (const std::size_t n : {std::size_t{1} << 50, std::size_t{1} << 62, ~std::size_t{0}}) {
    try {
      Storage::allocate(n);
      FAIL() << "allocated " << n;
    } catch (const OutOfMemoryError& error) {
      EXPECT_EQ(error.bytes(), n);
      EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(n)));
    }
  }
}

#ifndef TENON_SANITIZED
TEST(Storage, RunningOutOfMemoryIsAnErrorToo) {
  // In a child with a limit of its own. (A sanitizer reserves more address space than any limit.)
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
    ::setrlimit(RLIMIT_AS, &limit);
    try {
      const Storage storage = Storage::allocate(std::size_t{2} << 30);
      ::_exit(1);
    } catch (const OutOfMemoryError&) {
      ::_exit(0);
    }
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

TEST(Storage, ADeviceWithoutABackendSaysSo) {
  expect_error<DeviceError>([] { Storage::allocate(8, Device::cuda()); }, "cuda", "no backend");
}

TEST(MappedStorage, KeepsTheFileMappedForAsLongAsItLives) {
  const TempDir dir;
  const auto before = memory_allocated();
  Ref<Mapping> mapping = Mapping::open(dir.write("f", "0123456789"), Mapping::Mode::private_copy);
  Storage middle = mapped_storage(mapping, 2, 5);
  EXPECT_EQ(mapping->use_count(), 2);
  mapping = nullptr;
  std::filesystem::remove(dir.file("f"));
  EXPECT_EQ(std::memcmp(middle.data(), "23456", 5), 0);
  EXPECT_EQ(memory_allocated(), before);  // it is the page cache's
}

TEST(MappedStorage, MayBeLargerThanTheMemoryOfTheMachine) {
  const TempDir dir;
  const std::string path = dir.write("f", "0123456789");
  const auto size = static_cast<std::uintmax_t>(::sysconf(_SC_PHYS_PAGES)) *
                    static_cast<std::uintmax_t>(::sysconf(_SC_PAGESIZE)) * 4;
  std::filesystem::resize_file(path, size);  // a file of one block
  const Storage all = mapped_storage(Mapping::open(path, Mapping::Mode::private_copy), 0, size);
  const auto* bytes = static_cast<const char*>(all.data());
  EXPECT_EQ(bytes[9], '9');
  EXPECT_EQ(bytes[size - 1], '\0');
}

TEST(MappedStorage, AStretchOutsideIsRefused) {
  const TempDir dir;
  const Ref<Mapping> mapping =
      Mapping::open(dir.write("f", "0123456789"), Mapping::Mode::private_copy);
  EXPECT_EQ(mapped_storage(mapping, 10, 0).nbytes(), 0U);
  expect_error<ValueError>([&] { mapped_storage(mapping, 6, 5); }, "6 to 11", "10 bytes");
  expect_error<ValueError>([&] { mapped_storage(mapping, ~std::size_t{0}, 2); }, "10 bytes");
  expect_error<ValueError>([&] { mapped_storage(mapping, 2, ~std::size_t{0}); }, "10 bytes");
}

}  // namespace
}  // namespace tenon
