#!/bin/bash
# Runs as root in the stage `build`, from /context: installs what pins/dnf and pins/rpm name, and nothing of AMD's that is not
# pinned: AMD's repository is not configured at all, so EPEL's older packages of the same names cannot win either.
set -euxo pipefail

readonly TOOLSET=/opt/rh/gcc-toolset-13/root/usr
readonly ANCHOR=/etc/pki/ca-trust/source/anchors/site.crt
if [[ -s /context/extra.crt ]]; then
  cp /context/extra.crt "$ANCHOR"
  update-ca-trust extract
fi

dnf_install() {
  dnf install --assumeyes --setopt=install_weak_deps=False --setopt=tsflags=nodocs --enablerepo=powertools "$@"
}
mapfile -t distribution </context/dnf
dnf_install "${distribution[@]}"

# The files are checked before anything of them runs.
mkdir /context/rpms
cd /context/rpms
while read -r _ file; do
  curl --fail --silent --show-error --location --retry 3 --output "$file" "$RPM_ADDRESS/$file"
done </context/rpm
sha256sum --check --strict /context/rpm
dnf_install ./*.rpm
cd /

[[ -e /opt/rocm ]] || ln -s "/opt/rocm-$ROCM_VERSION" /opt/rocm
# PATH is not enough: ROCm's clang looks for the C++ library beside the system's own gcc 8 (pytorch#179504).
echo "--gcc-toolchain=$TOOLSET" >>/opt/rocm/llvm/bin/rocm.cfg

# What was installed compiles for gfx942, with the library of the toolset, or there is no image.
cat >/context/try.hip <<'END'
#include <hip/hip_runtime.h>
#include <concepts>
__global__ void add(float* to, const float* from) { to[threadIdx.x] += from[threadIdx.x]; }
END
export HIP_PLATFORM=amd HIP_PATH=/opt/rocm ROCM_PATH=/opt/rocm HIP_CLANG_PATH=/opt/rocm/llvm/bin
export HIP_DEVICE_LIB_PATH=/opt/rocm/amdgcn/bitcode HSA_PATH=/opt/rocm
/opt/rocm/bin/hipcc -std=c++20 -shared -fPIC --offload-arch=gfx942 /context/try.hip -o /context/try.so
/opt/rocm/llvm/bin/clang++ -v 2>&1 | grep -F "Selected GCC installation: $TOOLSET"

useradd --uid 1000 --user-group --create-home --shell /bin/bash builder
dnf clean all
if [[ -e $ANCHOR ]]; then
  rm "$ANCHOR"
  update-ca-trust extract
fi
rm -rf /context /var/cache/dnf /var/log/* /tmp/* ~root/.cache
# An ordinary user has no use for programs that make somebody root.
find / -xdev -type f -perm /6000 -exec chmod ug-s {} +
