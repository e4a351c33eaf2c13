// What the steps of module programs do. tests/interop/module_world.py has the same ones.
#pragma once

#include <string>
#include <vector>

#include "program_world.h"

namespace programs {

using Words = std::vector<std::string>;

// Throws what the library throws.
void do_step(World& world, const std::string& name, const Words& arguments);

}  // namespace programs
