// Marks what the shared library exports. Everything else is hidden.
#pragma once

#define TENON_API __attribute__((visibility("default")))
