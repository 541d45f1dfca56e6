// Throws what bindings throw, from a library that is linked exactly as an extension is. Parts are numbered; see parts.h.

#include "parts.h"

#include <cerrno>
#include <cstdint>
#include <dlfcn.h>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <new>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

struct Base {
  virtual ~Base() = default;
};
struct Derived : Base {};

std::string hip_error(int number) {
  std::ostringstream text;
  text << "HIP error " << number << " (0x" << std::hex << number << std::dec << ") after " << 0.5 << " s, "
       << UINT64_MAX << " bytes";
  return text.str();
}

void rethrow_from_pointer() {
  std::exception_ptr kept;
  try {
    throw std::runtime_error(hip_error(719));
  } catch (...) {
    kept = std::current_exception();
  }
  const std::exception_ptr copy = kept;
  kept = nullptr;
  std::rethrow_exception(copy);
}

void throw_through_thread() {
  std::promise<void> promise;
  std::thread thread([&promise] {
    try {
      throw std::runtime_error("thread " + std::to_string(98));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  });
  thread.join();
  promise.get_future().get();
}

void throw_nested() {
  try {
    throw std::runtime_error("inner " + std::to_string(1));
  } catch (...) {
    std::throw_with_nested(std::runtime_error("outer " + std::to_string(2)));
  }
}

// libstdc++'s own code throws its own std::out_of_range, "%zu" included.
void throw_in_libstdcxx() {
  using Throw = void (*)(const char*, ...);
  void* library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  const auto thrower = reinterpret_cast<Throw>(dlsym(library, "_ZSt24__throw_out_of_range_fmtPKcz"));
  thrower("row %zu of %zu", static_cast<size_t>(7), static_cast<size_t>(3));
}

void count_uncaught() {
  static int seen;
  struct Watcher {
    ~Watcher() { seen = std::uncaught_exceptions(); }
  };
  try {
    Watcher watcher;
    throw 719;
  } catch (int number) {
    throw std::runtime_error("int " + std::to_string(number) + ", uncaught " + std::to_string(seen));
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void PyInit_probe_throw(int part) {
  switch (static_cast<Part>(part)) {
    case Part::kStream:
      throw std::runtime_error(hip_error(719));
    case Part::kStoi:
      (void)std::stoi("no number");
      break;
    case Part::kAt:
      (void)std::vector<int>(3).at(7);
      break;
    case Part::kPointer:
      rethrow_from_pointer();
      break;
    case Part::kAsync:
      std::async(std::launch::async, [] { throw std::runtime_error(hip_error(98)); }).get();
      break;
    case Part::kThread:
      throw_through_thread();
      break;
    case Part::kMakePointer:
      std::rethrow_exception(std::make_exception_ptr(std::runtime_error("made " + std::to_string(1))));
    case Part::kNested:
      throw_nested();
      break;
    case Part::kSystem:
      throw std::system_error(ENOENT, std::generic_category(), "open");
    case Part::kRegex:
      std::regex("(");
      break;
    case Part::kFilesystem:
      (void)std::filesystem::file_size("/nowhere/at/all");
      break;
    case Part::kBadAlloc:
      ::operator delete(::operator new(PTRDIFF_MAX));
      break;
    case Part::kBadCast: {
      const std::unique_ptr<Base> base = std::make_unique<Base>();
      (void)dynamic_cast<Derived&>(*base);
      break;
    }
    case Part::kLibstdcxx:
      throw_in_libstdcxx();
      break;
    case Part::kUncaught:
      count_uncaught();
      break;
    case Part::kCount:
      break;
  }
}
