// Host side of the kernel: picks the instantiation for the operands' layouts and queues it.

#include <hip/hip_runtime.h>

#include "gemm_kernel.h"
#include "gemm_launch.h"

namespace rocmatrix_gemm {
namespace {

// hipLaunchKernel instead of <<<>>>: its own return value cannot be an older error that somebody else left behind.
template <typename... Parameters>
hipError_t launch_kernel(void (*kernel)(Parameters...), dim3 grid, hipStream_t stream, Parameters... arguments) {
  void* addresses[] = {&arguments...};
  const hipError_t error =
      hipLaunchKernel(reinterpret_cast<const void*>(kernel), grid, dim3(kThreads), addresses, 0, stream);
  if (error != hipSuccess) (void)hipGetLastError();  // it is reported here; the next check must not see it again
  return error;
}

template <Contiguous kContiguousA, Contiguous kContiguousB>
hipError_t launch_layouts(const Problem& problem, hipStream_t stream) {
  const dim3 grid(static_cast<unsigned int>(tile_count(problem.m, problem.n)));
  return launch_kernel(gemm_kernel<kContiguousA, kContiguousB>, grid, stream, static_cast<const uint8_t*>(problem.a),
                       static_cast<const uint8_t*>(problem.b), problem.a_scale, problem.b_scale,
                       static_cast<uint16_t*>(problem.out), static_cast<int>(problem.m), static_cast<int>(problem.n),
                       static_cast<int>(problem.k));
}

template <Contiguous kContiguousA>
hipError_t launch_layout_a(const Problem& problem, hipStream_t stream) {
  return problem.b_contiguous == Contiguous::kK ? launch_layouts<kContiguousA, Contiguous::kK>(problem, stream)
                                                : launch_layouts<kContiguousA, Contiguous::kRow>(problem, stream);
}

}  // namespace

int launch(const Problem& problem, void* stream) {
  const auto hip_stream = static_cast<hipStream_t>(stream);
  return static_cast<int>(problem.a_contiguous == Contiguous::kK
                              ? launch_layout_a<Contiguous::kK>(problem, hip_stream)
                              : launch_layout_a<Contiguous::kRow>(problem, hip_stream));
}

const char* error_text(int error) { return hipGetErrorString(static_cast<hipError_t>(error)); }

}  // namespace rocmatrix_gemm
