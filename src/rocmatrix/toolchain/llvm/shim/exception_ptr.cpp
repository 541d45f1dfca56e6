// Maps what zig's libc++ asks of libc++abi about std::exception_ptr onto libstdc++, whose exceptions an extension shares
// with Python's process.
//
// Without this object, code that uses std::exception_ptr, std::future or std::async makes the linker take libc++abi's
// own exception handling into the extension, where the first exception that is thrown aborts the process. The functions
// keep libc++abi's contract (libc++abi's cxa_exception.cpp): a null pointer is allowed everywhere.
//
// The names on the right are libstdc++'s std::__exception_ptr::exception_ptr, which holds one pointer to the exception
// object: its constructor from a pointer takes a reference, its destructor gives one back (CXXABI_1.3.3 and 1.3.11).
// The compiler passes it by address, since it is not trivially copyable.

#include <dlfcn.h>

extern "C" {

void gnu_acquire(void** pointer, void* exception) noexcept __asm__("_ZNSt15__exception_ptr13exception_ptrC1EPv");
void gnu_release(void** pointer) noexcept __asm__("_ZNSt15__exception_ptr13exception_ptrD1Ev");
[[noreturn]] void gnu_rethrow(void** pointer) __asm__("_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE");
[[noreturn]] void gnu_terminate() noexcept __asm__("_ZSt9terminatev");

// Itanium C++ ABI, section 2.2.2.
struct CaughtAndUncaught {
  void* caught;
  unsigned int uncaught;
};
CaughtAndUncaught* __cxa_get_globals() noexcept;

void __cxa_increment_exception_refcount(void* exception) noexcept {
  void* kept = nullptr;
  gnu_acquire(&kept, exception);
}

void __cxa_decrement_exception_refcount(void* exception) noexcept { gnu_release(&exception); }

// std::current_exception has one name in both libraries, and within an extension that name is libc++'s, which calls this
// function: asking by name would come back here for ever. So libstdc++'s is looked up in its own library.
void* __cxa_current_primary_exception() noexcept {
  using CurrentException = void (*)(void** result);
  static const CurrentException current_exception = [] {
    void* library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    return reinterpret_cast<CurrentException>(library ? dlsym(library, "_ZSt17current_exceptionv") : nullptr);
  }();
  if (current_exception == nullptr) gnu_terminate();
  void* exception = nullptr;
  current_exception(&exception);
  return exception;
}

void __cxa_rethrow_primary_exception(void* exception) {
  if (exception == nullptr) return;
  struct Holder {
    void* pointer;
    ~Holder() { gnu_release(&pointer); }
  } holder{nullptr};
  gnu_acquire(&holder.pointer, exception);
  gnu_rethrow(&holder.pointer);
}

unsigned int __cxa_uncaught_exceptions() noexcept { return __cxa_get_globals()->uncaught; }

}  // extern "C"
