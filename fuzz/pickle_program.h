// Pickles made of the fuzzer's choices: programs that mostly run to their end, of the operations
// and names that checkpoints have, with arguments that are often nearly right.
#pragma once

#include <string>

#include "choices.h"

namespace tenon {

std::string pickle_program(Choices& choices);

}  // namespace tenon
