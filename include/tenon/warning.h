// Warnings: things that work and are probably not what was meant. The library never prints; it
// hands the sentence to one handler. There is none until a program sets one:
//
//   tenon::set_warning_handler([](const std::string& text) { std::cerr << text << '\n'; });
#pragma once

#include <functional>
#include <string>

#include "tenon/api.h"

namespace tenon {

using WarningHandler = std::function<void(const std::string& message)>;

// Returns the handler there was; an empty one silences. May be called on any thread. The handler is
// called on the thread that warns, one call at a time; what is warned of while it runs, by what it
// does itself, is dropped. It may set another handler; it must not wait for another thread that may
// warn, which waits for its turn.
TENON_API WarningHandler set_warning_handler(WarningHandler handler);

}  // namespace tenon
