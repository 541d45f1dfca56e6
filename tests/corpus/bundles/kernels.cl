// Two kernels whose metadata has what a reader can get wrong: a required workgroup size, LDS, and none of either.
kernel __attribute__((reqd_work_group_size(64, 2, 1))) void scale(global float *x, float by, int n) {
  local float tile[256];
  int i = __builtin_amdgcn_workitem_id_x();
  for (int k = 0; k < n; k++) {
    tile[i] = x[i + k];
    __builtin_amdgcn_s_barrier();
    x[i + k] = tile[255 - i] * by;
  }
}
kernel void nothing(void) {}
