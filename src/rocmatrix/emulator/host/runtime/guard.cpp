// The one call into an extension that may throw. Whatever comes out becomes text.

// The C++ runtime's own class; its key function is there, so that its type information is too.
namespace std {
class exception {
 public:
  exception() noexcept;
  virtual ~exception();
  virtual const char* what() const noexcept;
};
}  // namespace std

using Boxed = void (*)(unsigned long* stack, unsigned long inputs, unsigned long outputs);
using Took = void (*)(const char* text);

// Returns 0, or 1 after handing over the text of what was thrown.
extern "C" __attribute__((visibility("default"))) int rocmatrix_call(Boxed boxed, unsigned long* stack,
                                                                     unsigned long inputs, unsigned long outputs,
                                                                     Took took) {
  try {
    boxed(stack, inputs, outputs);
    return 0;
  } catch (const std::exception& error) {
    took(error.what());
  } catch (...) {
    took("something that is no std::exception was thrown");
  }
  return 1;
}
