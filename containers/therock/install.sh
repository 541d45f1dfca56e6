#!/bin/bash
# Runs as root in the stage `build`, from /context: AMD's pip packages in an environment of their own, unpacked and tried.
set -euxo pipefail

readonly PYTHON=/opt/python/cp312-cp312/bin/python
readonly ENVIRONMENT=/opt/rocm-python
readonly ANCHOR=/etc/pki/ca-trust/source/anchors/site.crt
if [[ -s /context/extra.crt ]]; then
  cp /context/extra.crt "$ANCHOR"
  update-ca-trust extract
  export PIP_CERT=/etc/pki/tls/certs/ca-bundle.crt
fi
mapfile -t distribution </context/dnf
dnf install --assumeyes --setopt=install_weak_deps=False --setopt=tsflags=nodocs "${distribution[@]}"

"$PYTHON" -m venv "$ENVIRONMENT"
pip_install() {
  "$ENVIRONMENT/bin/python" -m pip install --no-cache-dir --disable-pip-version-check "$@"
}
pip_install --require-hashes --requirement /context/pypi
# One index alone, so that no other one can answer for the same name. `rocm` is a source distribution: it is built with the
# setuptools that was just installed, without a network of its own.
pip_install --index-url "$PIP_ADDRESS" --no-build-isolation --no-deps --requirement /context/pip
"$ENVIRONMENT/bin/rocm-sdk" init --quiet
rocm=$("$ENVIRONMENT/bin/rocm-sdk" path --root)
ln -s "$rocm" /opt/rocm

# ROCm's clang looks for the C++ library beside the system's own gcc 8 otherwise (pytorch#179504).
toolset=$(printf '%s\n' /opt/rh/gcc-toolset-*/root/usr | sort --version-sort | tail -n 1)
configuration=/opt/rocm/lib/llvm/bin/rocm.cfg
[[ -e $configuration ]] || configuration=/opt/rocm/lib/llvm/bin/clang++.cfg
echo "--gcc-toolchain=$toolset" >>"$configuration"

# What was installed compiles for gfx942, with the library of the toolset, or there is no image.
cat >/context/try.hip <<'END'
#include <hip/hip_runtime.h>
#include <concepts>
__global__ void add(float* to, const float* from) { to[threadIdx.x] += from[threadIdx.x]; }
END
export HIP_PLATFORM=amd HIP_PATH=/opt/rocm ROCM_PATH=/opt/rocm HIP_CLANG_PATH=/opt/rocm/lib/llvm/bin
export HIP_DEVICE_LIB_PATH=/opt/rocm/lib/llvm/amdgcn/bitcode
/opt/rocm/bin/hipcc -std=c++20 -shared -fPIC --offload-arch=gfx942 /context/try.hip -o /context/try.so
/opt/rocm/lib/llvm/bin/clang++ -v 2>&1 | grep -F "Selected GCC installation: $toolset"

useradd --uid 1000 --user-group --create-home --shell /bin/bash builder
dnf clean all
if [[ -e $ANCHOR ]]; then
  rm "$ANCHOR"
  update-ca-trust extract
fi
rm -rf /context /var/cache/dnf /var/log/* /tmp/* ~root/.cache
# An ordinary user has no use for programs that make somebody root.
find / -xdev -type f -perm /6000 -exec chmod ug-s {} +
