// A program outside the project that has files and no operators: it links tenon::io alone.
#include <tenon/checkpoint.h>
#include <tenon/save.h>

#include <iostream>

int main(int argc, char** argv) {
  using namespace tenon;
  if (argc != 2) return 2;
  const StateDict state = load(argv[1], {.mmap = true});
  const std::vector<std::byte> bytes = save_to_memory(Value(state));
  const StateDict again = Checkpoint::open(bytes).load();
  std::cout << again.size() << " tensors, " << bytes.size() << " bytes\n";
  return !state.empty() && again.size() == state.size() ? 0 : 1;
}
