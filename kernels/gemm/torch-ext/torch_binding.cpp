// Checks the arguments, finds the stream, queues the kernel. Every refusal is an exception that says what is accepted.

#include "torch_binding.h"

#include <dlfcn.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <cstdint>
#include <optional>
#include <string>

#include "../gemm/gemm_launch.h"
#include "registration.h"

namespace {

using rocmatrix_gemm::Contiguous;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

constexpr int64_t kScaleBlock = rocmatrix_gemm::kScaleBlock;

int64_t scale_blocks(int64_t extent) { return (extent + kScaleBlock - 1) / kScaleBlock; }

std::string pair(int64_t first, int64_t second) {
  return "(" + std::to_string(first) + ", " + std::to_string(second) + ")";
}

std::string shape_of(const Tensor& tensor) {
  std::string text = "(";
  for (int64_t i = 0; i < tensor.dim(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(tensor.size(i));
  return text + ")";
}

void check_matrix(const Tensor& tensor, const char* name, ScalarType dtype, const char* dtype_name) {
  STD_TORCH_CHECK(tensor.scalar_type() == dtype, "gemm: ", name, " must be ", dtype_name, ", got ",
                  torch::headeronly::toString(tensor.scalar_type()));
  STD_TORCH_CHECK(tensor.dim() == 2, "gemm: ", name, " must have 2 dimensions, got shape ", shape_of(tensor));
}

void check_shape(const Tensor& tensor, const char* name, const char* meaning, int64_t rows, int64_t columns) {
  STD_TORCH_CHECK(tensor.size(0) == rows && tensor.size(1) == columns, "gemm: ", name, " must have shape ", meaning,
                  " = ", pair(rows, columns), ", got ", shape_of(tensor));
}

void check_contiguous(const Tensor& tensor, const char* name) {
  STD_TORCH_CHECK(tensor.is_contiguous(), "gemm: ", name, " must be contiguous, got strides ",
                  pair(tensor.stride(0), tensor.stride(1)), " for shape ", shape_of(tensor),
                  "; pass ", name, ".contiguous()");
}

// The operand's contiguous axis. A stride says nothing along an axis of one element, so that a matrix of one row or column
// is both contiguous and a transpose; either answer describes the same bytes then.
Contiguous contiguous_axis(const Tensor& tensor, const char* name, int64_t k_axis) {
  const auto moves_fastest = [&](int64_t axis) {
    const int64_t other = 1 - axis;
    return (tensor.stride(axis) == 1 || tensor.size(axis) == 1) &&
           (tensor.stride(other) == tensor.size(axis) || tensor.size(other) == 1);
  };
  const bool k_fastest = moves_fastest(k_axis);
  STD_TORCH_CHECK(k_fastest || moves_fastest(1 - k_axis), "gemm: ", name,
                  " must be contiguous or the transpose of a contiguous tensor, got strides ",
                  pair(tensor.stride(0), tensor.stride(1)), " for shape ", shape_of(tensor), "; pass ", name,
                  ".contiguous()");
  return k_fastest ? Contiguous::kK : Contiguous::kRow;
}

// Only the CUDA key has an implementation, so the dispatcher itself refuses a call whose tensors are all on the CPU. What
// arrives here has a GPU tensor among its arguments, or was redispatched to this key on purpose: a test on a machine without
// a GPU does that with CPU tensors and a HIP runtime of its own. Both may pass, a mixture may not.
void check_device(const Tensor& tensor, const char* name, const Tensor& a) {
  STD_TORCH_CHECK(tensor.is_cuda() || tensor.is_cpu(), "gemm: ", name, " must be on a ROCm GPU");
  STD_TORCH_CHECK(tensor.device() == a.device(),
                  "gemm: a, b, a_scale, b_scale and out must be on one GPU, but a is on ", a.is_cuda() ? "GPU " : "the CPU",
                  a.is_cuda() ? std::to_string(a.get_device_index()) : "", " and ", name, " on ",
                  tensor.is_cuda() ? "GPU " : "the CPU",
                  tensor.is_cuda() ? std::to_string(tensor.get_device_index()) : "");
}

rocmatrix_gemm::Problem check_inputs(const Tensor& a, const Tensor& b, const Tensor& a_scale, const Tensor& b_scale) {
  check_device(a, "a", a);
  check_device(b, "b", a);
  check_device(a_scale, "a_scale", a);
  check_device(b_scale, "b_scale", a);
  check_matrix(a, "a", ScalarType::Float8_e4m3fnuz, "torch.float8_e4m3fnuz");
  check_matrix(b, "b", ScalarType::Float8_e4m3fnuz, "torch.float8_e4m3fnuz");
  check_matrix(a_scale, "a_scale", ScalarType::Float, "torch.float32");
  check_matrix(b_scale, "b_scale", ScalarType::Float, "torch.float32");

  const int64_t m = a.size(0);
  const int64_t k = a.size(1);
  const int64_t n = b.size(1);
  STD_TORCH_CHECK(b.size(0) == k, "gemm: a (M, K) and b (K, N) must agree in K, got a ", shape_of(a), " and b ",
                  shape_of(b));
  STD_TORCH_CHECK(m >= 1 && n >= 1, "gemm: M and N must be at least 1, got M = ", m, " and N = ", n);
  STD_TORCH_CHECK(k >= kScaleBlock && k % kScaleBlock == 0, "gemm: K must be a positive multiple of ", kScaleBlock,
                  ", got K = ", k);
  STD_TORCH_CHECK(m <= rocmatrix_gemm::kMaxExtent && n <= rocmatrix_gemm::kMaxExtent && k <= rocmatrix_gemm::kMaxExtent,
                  "gemm: M, N and K must be at most ", rocmatrix_gemm::kMaxExtent, ", got M = ", m, ", N = ", n,
                  ", K = ", k);
  STD_TORCH_CHECK(rocmatrix_gemm::tile_count(m, n) <= rocmatrix_gemm::kMaxTiles, "gemm: one call computes at most ",
                  rocmatrix_gemm::kMaxTiles, " tiles of ", rocmatrix_gemm::kTileM, " x ", rocmatrix_gemm::kTileN,
                  ", got M = ", m, " and N = ", n, "; split M or N over several calls");
  check_shape(a_scale, "a_scale", "(K / 128, M)", scale_blocks(k), m);
  check_shape(b_scale, "b_scale", "(K / 128, ceil(N / 128))", scale_blocks(k), scale_blocks(n));
  check_contiguous(a_scale, "a_scale");
  check_contiguous(b_scale, "b_scale");

  rocmatrix_gemm::Problem problem{};
  problem.a_contiguous = contiguous_axis(a, "a", 1);
  problem.b_contiguous = contiguous_axis(b, "b", 0);
  problem.a = a.const_data_ptr();
  problem.b = b.const_data_ptr();
  problem.a_scale = static_cast<const float*>(a_scale.const_data_ptr());
  problem.b_scale = static_cast<const float*>(b_scale.const_data_ptr());
  problem.m = static_cast<int32_t>(m);
  problem.n = static_cast<int32_t>(n);
  problem.k = static_cast<int32_t>(k);
  return problem;
}

// The kernel reads its inputs while other workgroups already write the result.
void check_no_overlap(const Tensor& input, const char* name, const Tensor& out) {
  const auto first = [](const Tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.const_data_ptr()); };
  const auto last = [&](const Tensor& tensor) { return first(tensor) + tensor.numel() * tensor.element_size(); };
  STD_TORCH_CHECK(last(input) <= first(out) || last(out) <= first(input), "gemm: out must not share memory with ", name);
}

using GetCurrentStream = AOTITorchError (*)(int32_t device_index, void** stream);

// Torch's current stream through the only stable function that torch 2.10 has for it. It lives in torch's GPU library, which
// a build without ROCm cannot link against, and torch loads its libraries with local visibility: the symbol is in this
// extension's own scope only if one of its dependencies happens to need that library, so the loaded libraries are asked too.
GetCurrentStream find_get_current_stream() {
  constexpr const char* kSymbol = "aoti_torch_get_current_cuda_stream";
  if (void* found = dlsym(RTLD_DEFAULT, kSymbol)) return reinterpret_cast<GetCurrentStream>(found);
  for (const char* library : {"libtorch_hip.so", "libtorch.so", "libtorch_python.so"}) {
    void* handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) continue;
    void* found = dlsym(handle, kSymbol);
    dlclose(handle);  // gives back the reference only: torch keeps its library loaded
    if (found != nullptr) return reinterpret_cast<GetCurrentStream>(found);
  }
  return nullptr;
}

// A GPU tensor without a stream is an error: work on stream 0 would race with everything on the caller's stream, and nobody
// would notice. (A null stream from torch is different: it is the default stream, and current.)
void* current_stream(int32_t device_index) {
  static const GetCurrentStream get_current_stream = find_get_current_stream();
  STD_TORCH_CHECK(get_current_stream != nullptr,
                  "gemm: this torch has no aoti_torch_get_current_cuda_stream, so the current stream is unknown; "
                  "use a ROCm build of torch 2.10 or later");
  void* stream = nullptr;
  STD_TORCH_CHECK(get_current_stream(device_index, &stream) == TORCH_SUCCESS,
                  "gemm: torch could not tell the current stream of GPU ", device_index);
  return stream;
}

void launch(const rocmatrix_gemm::Problem& problem, const Tensor& a) {
  std::optional<torch::stable::accelerator::DeviceGuard> guard;
  void* stream = nullptr;
  if (a.is_cuda()) {
    guard.emplace(a.get_device_index());
    stream = current_stream(a.get_device_index());
  }
  // CPU tensors (see check_device) have no current stream; the null stream is named here for them, and for them alone.
  const int error = rocmatrix_gemm::launch(problem, stream);
  STD_TORCH_CHECK(error == 0, "gemm: HIP error ", error, " (", rocmatrix_gemm::error_text(error),
                  ") at the launch; the kernel is built for gfx942");
}

}  // namespace

Tensor gemm(const Tensor& a, const Tensor& b, const Tensor& a_scale, const Tensor& b_scale) {
  auto problem = check_inputs(a, b, a_scale, b_scale);
  const int64_t shape[] = {problem.m, problem.n};
  Tensor out = torch::stable::new_empty(a, {shape, 2}, ScalarType::BFloat16);
  problem.out = out.mutable_data_ptr();
  launch(problem, a);
  return out;
}

void gemm_out(const Tensor& a, const Tensor& b, const Tensor& a_scale, const Tensor& b_scale, Tensor& out) {
  auto problem = check_inputs(a, b, a_scale, b_scale);
  check_device(out, "out", a);
  check_matrix(out, "out", ScalarType::BFloat16, "torch.bfloat16");
  check_shape(out, "out", "(M, N)", problem.m, problem.n);
  check_contiguous(out, "out");
  check_no_overlap(a, "a", out);
  check_no_overlap(b, "b", out);
  check_no_overlap(a_scale, "a_scale", out);
  check_no_overlap(b_scale, "b_scale", out);
  problem.out = out.mutable_data_ptr();
  launch(problem, a);
}

STABLE_TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("gemm(Tensor a, Tensor b, Tensor a_scale, Tensor b_scale) -> Tensor");
  ops.def("gemm_out(Tensor a, Tensor b, Tensor a_scale, Tensor b_scale, Tensor! out) -> ()");
}

// ROCm builds of torch answer to the CUDA key.
STABLE_TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CUDA, ops) {
  ops.impl("gemm", TORCH_BOX(&gemm));
  ops.impl("gemm_out", TORCH_BOX(&gemm_out));
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
