// Operators that do what operators of kernels do, right and wrong, so that the host side of the emulator can be tried.

#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "../device/probe.h"
#include "registration.h"

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

int count(const Tensor& x) { return static_cast<int>(x.numel()); }

void check(int error) { STD_TORCH_CHECK(error == 0, "probe: HIP error ", error, " (", error_text(error), ")"); }

const float* floats(const Tensor& x) { return static_cast<const float*>(x.const_data_ptr()); }
float* floats_of(const Tensor& x) { return static_cast<float*>(x.mutable_data_ptr()); }

Tensor scale(const Tensor& x, double factor) {
  Tensor out = torch::stable::empty_like(x);
  check(launch_scale(floats(x), floats_of(out), count(x), static_cast<float>(factor), nullptr));
  return out;
}

void scale_out(const Tensor& x, double factor, Tensor& out) {
  check(launch_scale(floats(x), floats_of(out), count(x), static_cast<float>(factor), nullptr));
}

Tensor shift(const Tensor& x, int64_t by, bool flip, std::optional<Tensor> bias, std::vector<int64_t> shape) {
  STD_TORCH_CHECK(x.scalar_type() == ScalarType::Long, "probe: x must be torch.int64");
  Tensor out = torch::stable::new_empty(x, shape);
  if (bias) by += bias->numel();
  check(launch_shift(static_cast<const int64_t*>(x.const_data_ptr()), static_cast<int64_t*>(out.mutable_data_ptr()),
                     count(x), by, flip, nullptr));
  return out;
}

// Columns 1 and 2, turned and made contiguous by torch, then doubled by a kernel.
Tensor views(const Tensor& x) {
  Tensor same = x;
  Tensor part = torch::stable::transpose(torch::stable::narrow(same, 1, 1, 2), 0, 1);
  Tensor turned = torch::stable::contiguous(part);
  STD_TORCH_CHECK(turned.is_contiguous() && !part.is_contiguous(), "probe: contiguity is wrong");
  return scale(turned, 2.0);
}

Tensor wrong(const Tensor& x) { return scale(x, 1.0009765625); }

// The last element is never written.
Tensor unwritten(const Tensor& x) {
  Tensor out = torch::stable::empty_like(x);
  check(launch_scale(floats(x), floats_of(out), count(x) - 1, 1.0f, nullptr));
  return out;
}

Tensor overrun(const Tensor& x) {
  Tensor out = torch::stable::empty_like(x);
  check(launch_overrun(floats(x), floats_of(out), count(x), nullptr));
  return out;
}

Tensor spoil(const Tensor& x) {
  Tensor out = torch::stable::empty_like(x);
  check(launch_spoil(floats_of(x), floats_of(out), count(x), nullptr));
  return out;
}

Tensor number(const Tensor& x) {
  const Extent grid = {2, 3, 2};
  const int64_t shape[] = {12, 64};
  Tensor out = torch::stable::new_empty(x, {shape, 2});
  check(launch_number(floats_of(out), grid, 64, 256, nullptr));
  return out;
}

Tensor last(const Tensor& x) {
  Tensor out = torch::stable::empty_like(x);
  launch_last(floats_of(out), nullptr);
  return out;
}

Tensor root(const Tensor& x) {
  Tensor out = torch::stable::empty_like(x);
  launch_root(floats(x), floats_of(out), count(x), nullptr);
  return out;
}

Tensor too_many(const Tensor& x) {
  check(launch_number(floats_of(x), {1, 1, 1}, 2048, 0, nullptr));
  return x;
}

Tensor throws(const Tensor& x) {
  throw std::out_of_range("probe: element " + std::to_string(x.numel()) + " is not there");
}

Tensor crash(const Tensor& x) {
  *const_cast<volatile float*>(static_cast<const float*>(nullptr)) = 1.0f;
  return x;
}

Tensor hangs(const Tensor& x) {
  volatile bool waiting = true;
  while (waiting) {
  }
  return x;
}

Tensor asks(const Tensor& x) { return torch::stable::matmul(x, x); }

}  // namespace

STABLE_TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("scale(Tensor x, float factor=2.0) -> Tensor");
  ops.def("scale_out(Tensor x, float factor, Tensor! out) -> ()");
  ops.def("shift(Tensor x, int by, bool flip, Tensor? bias, int[] shape) -> Tensor");
  for (const char* name : {"views", "wrong", "unwritten", "overrun", "spoil", "number", "last", "root", "too_many", "throws", "crash", "hangs", "asks"}) {
    ops.def((std::string(name) + "(Tensor x) -> Tensor").c_str());
  }
}

STABLE_TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CUDA, ops) {
  ops.impl("scale", TORCH_BOX(&scale));
  ops.impl("scale_out", TORCH_BOX(&scale_out));
  ops.impl("shift", TORCH_BOX(&shift));
  ops.impl("views", TORCH_BOX(&views));
  ops.impl("wrong", TORCH_BOX(&wrong));
  ops.impl("unwritten", TORCH_BOX(&unwritten));
  ops.impl("overrun", TORCH_BOX(&overrun));
  ops.impl("spoil", TORCH_BOX(&spoil));
  ops.impl("number", TORCH_BOX(&number));
  ops.impl("last", TORCH_BOX(&last));
  ops.impl("root", TORCH_BOX(&root));
  ops.impl("too_many", TORCH_BOX(&too_many));
  ops.impl("throws", TORCH_BOX(&throws));
  ops.impl("crash", TORCH_BOX(&crash));
  ops.impl("hangs", TORCH_BOX(&hangs));
  ops.impl("asks", TORCH_BOX(&asks));
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
