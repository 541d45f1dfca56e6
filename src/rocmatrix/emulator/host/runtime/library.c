// Registration of operators, the values that travel on a stack, and the small services of torch.

#include "host.h"
#include "libc.h"

Callbacks rocmatrix_callbacks;

void rocmatrix_set_callbacks(const Callbacks* callbacks) { rocmatrix_callbacks = *callbacks; }

static _Thread_local char last_refusal[512] = "";

int32_t rocmatrix_refuse(const char* what) {
  strncpy(last_refusal, what, sizeof(last_refusal) - 1);
  rocmatrix_callbacks.refuse(what);
  return kFailure;
}

const char* torch_exception_get_what(void) { return last_refusal; }
const char* torch_exception_get_what_without_backtrace(void) { return last_refusal; }

// -- libraries -------------------------------------------------------------------------------------------------------

typedef struct Library {
  char *ns, *key;
} Library;

static int32_t library_new(const char* ns, const char* key, Library** made) {
  *made = calloc(1, sizeof(Library));
  (*made)->ns = strdup(ns);
  (*made)->key = key ? strdup(key) : NULL;
  return kSuccess;
}

int32_t aoti_torch_library_init_impl(const char* ns, const char* key, const char* file, uint32_t line, Library** made) {
  return (void)file, (void)line, library_new(ns, key, made);
}
int32_t aoti_torch_library_init_def(const char* ns, const char* file, uint32_t line, Library** made) {
  return (void)file, (void)line, library_new(ns, NULL, made);
}
int32_t aoti_torch_library_init_fragment(const char* ns, const char* file, uint32_t line, Library** made) {
  return (void)file, (void)line, library_new(ns, NULL, made);
}

int32_t aoti_torch_library_def(Library* self, const char* schema) {
  return rocmatrix_callbacks.registered(self->ns, NULL, schema, NULL), kSuccess;
}
int32_t torch_library_def_with_tags(Library* self, const char* schema, const int32_t* tags, int32_t count) {
  return (void)tags, (void)count, aoti_torch_library_def(self, schema);
}
int32_t aoti_torch_library_impl(Library* self, const char* name, BoxedFunction boxed) {
  return rocmatrix_callbacks.registered(self->ns, self->key, name, boxed), kSuccess;
}
int32_t torch_library_impl(Library* self, const char* name, BoxedFunction boxed, uint64_t version) {
  return (void)version, aoti_torch_library_impl(self, name, boxed);
}
int32_t torch_library_set_python_module(Library* self, const char* module, const char* context) {
  return (void)self, (void)module, (void)context, kSuccess;
}
int32_t aoti_torch_delete_library_object(Library* self) {
  free(self->ns);
  free(self->key);
  free(self);
  return kSuccess;
}

int32_t torch_call_dispatcher(const char* name, const char* overload, IValue* stack, uint64_t version) {
  return rocmatrix_callbacks.dispatch(name, overload, stack, version);
}
int32_t aoti_torch_call_dispatcher(const char* name, const char* overload, IValue* stack) {
  return rocmatrix_callbacks.dispatch(name, overload, stack, 0);
}

// -- values ----------------------------------------------------------------------------------------------------------

int32_t torch_new_list_reserve_size(size_t size, List** made) {
  *made = calloc(1, sizeof(List));
  (*made)->capacity = size ? size : 1;
  (*made)->items = calloc((*made)->capacity, sizeof(IValue));
  return kSuccess;
}

int32_t torch_list_size(List* self, size_t* size) { return *size = self->size, kSuccess; }

int32_t torch_list_get_item(List* self, size_t index, IValue* item) {
  if (index >= self->size) return rocmatrix_refuse("an item beyond the end of a list");
  return *item = self->items[index], kSuccess;
}

int32_t torch_list_set_item(List* self, size_t index, IValue item) {
  if (index >= self->size) return rocmatrix_refuse("an item beyond the end of a list");
  return self->items[index] = item, kSuccess;
}

int32_t torch_list_push_back(List* self, IValue item) {
  if (self->size == self->capacity) {
    self->capacity *= 2;
    self->items = realloc(self->items, self->capacity * sizeof(IValue));
  }
  self->items[self->size++] = item;
  return kSuccess;
}

int32_t torch_delete_list(List* self) { return free(self->items), free(self), kSuccess; }

typedef struct String {
  size_t length;
  char text[];
} String;

int32_t torch_new_string_handle(const char* data, size_t length, String** made) {
  *made = calloc(1, sizeof(String) + length + 1);
  (*made)->length = length;
  memcpy((*made)->text, data, length);
  return kSuccess;
}
int32_t torch_delete_string(String* self) { return free(self), kSuccess; }
int32_t torch_string_length(String* self, size_t* length) { return *length = self->length, kSuccess; }
int32_t torch_string_c_str(String* self, const char** text) { return *text = self->text, kSuccess; }

// An extension below 2.13 allocates the value of an optional with `new`, which is malloc in the C++ runtimes of Linux.
int32_t torch_new_stable_ivalue(IValue** made) { return *made = calloc(1, sizeof(IValue)), kSuccess; }
int32_t torch_delete_stable_ivalue(IValue* value) {
  if (value == NULL) return rocmatrix_refuse("the deletion of a null value");
  return free(value), kSuccess;
}

// -- devices and streams ---------------------------------------------------------------------------------------------

typedef struct Stream {
  void* native;
} Stream;
typedef struct Guard {
  int32_t before;
} Guard;

int32_t aoti_torch_create_device_guard(int32_t index, Guard** made) {
  const int32_t before = rocmatrix_callbacks.current_device();
  if (rocmatrix_callbacks.set_device(index)) return rocmatrix_refuse("a device that the emulated machine does not have");
  *made = calloc(1, sizeof(Guard));
  (*made)->before = before;
  return kSuccess;
}
int32_t aoti_torch_device_guard_set_index(Guard* self, int32_t index) {
  (void)self;
  if (rocmatrix_callbacks.set_device(index)) return rocmatrix_refuse("a device that the emulated machine does not have");
  return kSuccess;
}
int32_t aoti_torch_delete_device_guard(Guard* self) {
  rocmatrix_callbacks.set_device(self->before);
  return free(self), kSuccess;
}
int32_t aoti_torch_create_cuda_guard(int32_t index, Guard** made) { return aoti_torch_create_device_guard(index, made); }
int32_t aoti_torch_cuda_guard_set_index(Guard* self, int32_t index) {
  return aoti_torch_device_guard_set_index(self, index);
}
int32_t aoti_torch_delete_cuda_guard(Guard* self) { return aoti_torch_delete_device_guard(self); }

int32_t aoti_torch_get_current_device_index(int32_t* index) {
  return *index = rocmatrix_callbacks.current_device(), kSuccess;
}
int32_t aoti_torch_get_current_cuda_stream(int32_t index, void** stream) {
  return *stream = rocmatrix_callbacks.current_stream(index), kSuccess;
}
int32_t aoti_torch_get_current_stream(int32_t index, Stream** made) {
  *made = calloc(1, sizeof(Stream));
  (*made)->native = rocmatrix_callbacks.current_stream(index);
  return kSuccess;
}
int32_t aoti_torch_delete_stream(Stream* self) { return free(self), kSuccess; }
int32_t aoti_torch_stream_id(Stream* self, int64_t* id) { return *id = (int64_t)(intptr_t)self->native, kSuccess; }
int32_t torch_stream_native_handle(Stream* self, void** native) { return *native = self->native, kSuccess; }

// Gives a text for an error of HIP, or null for success; the caller frees it.
int32_t torch_c10_cuda_check_msg(int32_t error, const char* file, const char* function, uint32_t line,
                                 bool device_assertions, char** message) {
  (void)device_assertions;
  *message = NULL;
  if (error == 0) return kSuccess;
  enum { kBytes = 1024 };
  *message = malloc(kBytes);
  snprintf(*message, kBytes, "HIP error %d in %s (%s:%u)", error, function, file, line);
  return kSuccess;
}
void torch_c10_cuda_free_error_msg(char* message) { free(message); }

// -- threads and modes -----------------------------------------------------------------------------------------------

int32_t torch_parallel_for(int64_t begin, int64_t end, int64_t grain, void (*body)(int64_t, int64_t, void*),
                           void* context) {
  (void)grain;
  if (begin < end) body(begin, end, context);
  return kSuccess;
}
int32_t torch_get_num_threads(uint32_t* count) { return *count = 1, kSuccess; }
int32_t torch_get_thread_idx(uint32_t* index) { return *index = 0, kSuccess; }
bool aoti_torch_grad_mode_is_enabled(void) { return false; }
void aoti_torch_grad_mode_set_enabled(bool wanted) {
  if (wanted) rocmatrix_refuse("gradients");
}
