// Warnings: things that work and are probably not what was meant. The library never prints; it
// hands the sentence to one handler. There is none until a program sets one:
//
//   tenon::set_warning_handler([](const std::string& text) { std::cerr << text << '\n'; });
#pragma once

#include <functional>
#include <string>

#include "tenon/detail/api.h"

namespace tenon {

using WarningHandler = std::function<void(const std::string& message)>;

// Returns the handler there was; an empty one silences. May be called on any thread. The handler is
// called on the thread that warns, one call at a time, and what it throws leaves what has warned.
// What is warned of while it runs, by what it does itself, is dropped. What another thread warns of
// meanwhile it is told when it is done, on the thread that it runs on (of more than a hundred, the
// rest after the next warning); what it throws then is dropped. No lock is held while it runs: it
// may set another handler, and wait for other threads. It may change or destroy what the function
// that warns was given, which has its own.
TENON_API WarningHandler set_warning_handler(WarningHandler handler);

}  // namespace tenon
