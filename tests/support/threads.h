// So many threads of the pool while it lives.
#pragma once

#include "tenon/threads.h"

namespace tenon {

class Threads {
 public:
  explicit Threads(int threads) : before_(get_num_threads()) { set_num_threads(threads); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace tenon
