// Marks what a library exports: to users, and (in headers under src/) to the other libraries of
// Tenon. Everything else is hidden.
#pragma once

#define TENON_API __attribute__((visibility("default")))
