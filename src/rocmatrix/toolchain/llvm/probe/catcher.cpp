// Catches on the other side of a library boundary, and hands the message to Python as text.

#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>

#include "parts.h"

extern "C" void PyInit_probe_throw(int part);

namespace {

std::string message(const std::exception& error) {
  std::string text = error.what();
  try {
    std::rethrow_if_nested(error);
  } catch (const std::exception& inner) {
    text += " from " + message(inner);
  }
  return text;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int PyInit_probe_count() { return static_cast<int>(Part::kCount); }

// Throws and catches one part `times` times; writes its last message.
extern "C" __attribute__((visibility("default"))) void PyInit_probe_catch(int part, int times, char* text, size_t size) {
  std::snprintf(text, size, "nothing was thrown");
  for (int i = 0; i < times; ++i) {
    try {
      PyInit_probe_throw(part);
    } catch (const std::exception& error) {
      std::snprintf(text, size, "%s", message(error).c_str());
    } catch (...) {
      std::snprintf(text, size, "something that is no std::exception");
    }
  }
}
