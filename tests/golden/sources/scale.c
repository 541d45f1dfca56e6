// The one kernel of `scale`, in C for the GPU: compiled for amdgcn as it is, without HIP.
__attribute__((amdgpu_kernel)) void scale(__attribute__((address_space(1))) float* data, float factor) {
  data[__builtin_amdgcn_workitem_id_x()] *= factor;
}
