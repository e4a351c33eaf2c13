// ReadMeter: counts what a reading costs, in steps and in bytes of memory, and ends it beyond
// limits that are linear in the bytes of its files (tenon/read_limits.h).
//
// Note [What a file may cost]
// A pickle can use each of its parts any number of times, and so can an index or a note in JSON.
// Whatever loops over, copies or hashes something that a file chose charges the meter first. What
// is charged is what is spent, not what the file announces. One meter serves one reading and what
// is done with it: opening a document charges the document's own; a load, a survey or a conversion
// begins with a copy of that, and goes on with it to its end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "tenon/detail/api.h"
#include "tenon/read_limits.h"

namespace tenon {

class TENON_API ReadMeter {
 public:
  // `file` is for the error.
  ReadMeter(std::string file, const ReadLimits& limits)
      : file_(std::move(file)),
        limits_(limits),
        most_memory_(limits.memory),
        most_steps_(limits.steps) {}

  // Of writing so many values that are in memory, some of them perhaps in many places. Beyond its
  // limits is a ValueError.
  static ReadMeter of_saving(std::uint64_t values);
  // Without limits: of writing what takes no more than the values themselves.
  static ReadMeter of_saving();

  // The limits are of all files together. Each is added once, with its bytes as they are stored.
  void add_file(std::uint64_t stored) noexcept;

  // FormatError beyond the limit.
  void work(std::uint64_t steps) {
    if (steps > most_steps_ - steps_) [[unlikely]]
      too_many_steps();
    steps_ += steps;
  }
  void memory(std::uint64_t bytes) {
    if (bytes > most_memory_ - memory_) [[unlikely]]
      too_much_memory();
    memory_ += bytes;
    if (memory_ > peak_) peak_ = memory_;
  }
  // What was charged is free again.
  void release(std::uint64_t bytes) noexcept { memory_ -= bytes < memory_ ? bytes : memory_; }
  // Text that is copied.
  void text(std::uint64_t length) {
    work(length / 8 + 1);
    memory(length + kObject);
  }

  // Whether a limit was reached: an error that was thrown then is about the file's cost.
  bool exceeded() const noexcept { return exceeded_; }
  const std::string& file() const noexcept { return file_; }
  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t held() const noexcept { return memory_; }  // bytes that are charged now
  std::uint64_t peak() const noexcept { return peak_; }    // the most there were

  // About what an object on the heap takes beside its content.
  static constexpr std::uint64_t kObject = 64;
  // The same for a tensor: its cell, its body, a storage.
  static constexpr std::uint64_t kTensor = 320;

 private:
  friend class PassingMeter;
  [[noreturn, gnu::cold, gnu::noinline]] void too_many_steps();
  [[noreturn, gnu::cold, gnu::noinline]] void too_much_memory();

  std::string file_;
  ReadLimits limits_;
  std::uint64_t stored_ = 0;
  std::uint64_t most_memory_, most_steps_;
  std::uint64_t memory_ = 0, peak_ = 0, steps_ = 0;
  bool exceeded_ = false, saving_ = false;
};

// For what lives no longer than this: what is charged meanwhile is released at the end, the steps
// stay. To be made before what it is about, and so to go after it.
class PassingCharge {
 public:
  explicit PassingCharge(ReadMeter& meter) noexcept : meter_(meter), before_(meter.held()) {}
  ~PassingCharge() {
    if (meter_.held() > before_) meter_.release(meter_.held() - before_);
  }
  PassingCharge(const PassingCharge&) = delete;
  PassingCharge& operator=(const PassingCharge&) = delete;

 private:
  ReadMeter& meter_;
  std::uint64_t before_;
};

// A copy of a meter, for something of which no memory stays. The steps stay, also of what ends with
// an error: somebody may go on with the next file.
class PassingMeter {
 public:
  explicit PassingMeter(ReadMeter& of) : of_(of), copy_(of) {}
  ~PassingMeter() {
    of_.steps_ = std::max(of_.steps_, copy_.steps_);
    of_.peak_ = std::max(of_.peak_, copy_.peak_);
    of_.exceeded_ = of_.exceeded_ || copy_.exceeded_;
  }
  PassingMeter(const PassingMeter&) = delete;
  PassingMeter& operator=(const PassingMeter&) = delete;

  ReadMeter& get() noexcept { return copy_; }

 private:
  ReadMeter& of_;
  ReadMeter copy_;
};

// Charges what a vector takes to get so many more at its end: while it grows, both the old memory
// and the new one are there.
template <class Vector>
void charge_growth(ReadMeter& meter, const Vector& vector, std::size_t more = 1) {
  if (vector.capacity() - vector.size() >= more) [[likely]]
    return;
  const std::size_t grown = std::max(2 * vector.capacity(), vector.size() + more);
  meter.memory(grown * sizeof(typename Vector::value_type));
  meter.release(vector.capacity() * sizeof(typename Vector::value_type));
}

}  // namespace tenon
