"""Random kernels that do nothing but access memory: in LDS and global memory, in all widths, with and without order."""

from __future__ import annotations

import random

PHASES = 30
"""Statements of a kernel."""

_HEAD = """
#include <hip/hip_runtime.h>
typedef __attribute__((address_space(3))) void* LdsPointer;
#define THREAD (__builtin_amdgcn_workitem_id_x())
#define GROUP (__builtin_amdgcn_workgroup_id_x())
"""
_SIZES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8, "b128": 16}
_REGISTERS = {1: "v40", 2: "v40", 4: "v40", 8: "v[40:41]", 16: "v[40:43]"}
_READS = {1: "u8", 2: "u16", 4: "b32", 8: "b64", 16: "b128"}
_GLOBAL = {1: "byte", 2: "short", 4: "dword", 8: "dwordx2", 16: "dwordx4"}
_LOADED = {1: "ubyte", 2: "ushort"}
_CLOBBERED = ", ".join(f'"v{number}"' for number in range(40, 48))
_WAITS = ("vmcnt(0)", "lgkmcnt(0)", "vmcnt(0) lgkmcnt(0)", "vmcnt(1)", "lgkmcnt(1)", "vmcnt(2) lgkmcnt(2)")


class Writer:
    """Writes kernels from a seed."""

    def __init__(self, seed: int) -> None:
        """Take a seed."""
        self._random = random.Random(seed)  # noqa: S311 - reproducible, no secret

    def source(self, kernels: int) -> str:
        """Return kernels ``k0``, ``k1``..., each with one buffer as argument."""
        return _HEAD + "".join(self._kernel(number) for number in range(kernels))

    def _kernel(self, number: int) -> str:
        body = "".join(self._statement() for _ in range(PHASES))
        return (
            f'extern "C" __global__ void k{number}(uint8_t* data) {{\n'
            "  __shared__ __attribute__((aligned(16))) uint8_t tile[1024];\n"
            f'{body}  asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory");\n}}\n'
        )

    def _place(self, size: int) -> str:
        """Return an index that waves share in part, so that some accesses meet and others do not."""
        stride = self._random.choice([0, size, size, size, 2 * size])
        thread = self._random.choice(["THREAD", "THREAD & 63", "THREAD + 64 * GROUP", "THREAD ^ 64"])
        first = self._random.randrange(0, 64, size if self._random.random() < 0.8 or size > 2 else 1)
        return f"(({thread}) * {stride} + {first}) % {1024 - 16 if size < 4 else 1024}"

    def _statement(self) -> str:
        kind = self._random.choice(["barrier", "wait", "lds", "lds", "lds", "global", "global", "atomic", "fence"])
        if kind == "barrier":
            wait = self._random.choice(["", "s_waitcnt vmcnt(0) lgkmcnt(0)\\n "])
            return self._assembly(f"{wait}s_barrier")
        if kind == "wait":
            return self._assembly(f"s_waitcnt {self._random.choice(_WAITS)}")
        if kind == "fence":
            fences = (
                "buffer_wbl2 sc1\\n s_waitcnt vmcnt(0)",
                "buffer_inv sc1",
                "buffer_wbl2 sc0",
                "buffer_inv sc0 sc1",
            )
            return self._assembly(self._random.choice(fences))
        return {"lds": self._lds, "global": self._global, "atomic": self._atomic}[kind]()

    @staticmethod
    def _assembly(text: str, operand: str = "") -> str:
        return f'  asm volatile("{text}" :: {operand} : "memory", {_CLOBBERED});\n'

    def _lds(self) -> str:
        name, size = self._random.choice(list(_SIZES.items()))
        address = f'"v"((LdsPointer)(tile + {self._place(size)}))'
        register = _REGISTERS[size]
        if self._random.random() < 0.2:
            address = f'"v"((LdsPointer)(tile + {self._place(4)} / 4 * 4))'
            atomic = self._random.choice(["ds_add_u32 %0, v44", "ds_add_rtn_u32 v40, %0, v44"])
            return self._assembly(atomic, address)
        if self._random.random() < 0.5:
            return self._assembly(f"ds_read_{_READS[size]} {register}, %0", address)
        return self._assembly(self._data(size) + f"ds_write_{name} %0, {register}", address)

    def _data(self, size: int) -> str:
        """Return instructions that make the data of a store: the same everywhere, or another in each lane."""
        form = self._random.choice(["v_mov_b32 {}, 5\\n ", "v_mbcnt_lo_u32_b32 {}, -1, 0\\n "])
        return "".join(form.format(f"v{40 + number}") for number in range(max(1, size // 4)))

    def _global(self) -> str:
        size = self._random.choice(list(_SIZES.values()))
        offset = f'"v"((uint32_t)({self._place(size)})), "s"(data)'
        bits = self._random.choice(["", "", "sc0", "sc1", "sc0 sc1"])
        if self._random.random() < 0.5:
            return self._assembly(
                f"global_load_{_LOADED.get(size, _GLOBAL[size])} {_REGISTERS[size]}, %0, %1 {bits}", offset
            )
        return self._assembly(
            self._data(size) + f"global_store_{_GLOBAL[size]} %0, {_REGISTERS[size]}, %1 {bits}", offset
        )

    def _atomic(self) -> str:
        offset = f'"v"((uint32_t)({self._place(4)} / 4 * 4)), "s"(data)'
        form = self._random.choice(["global_atomic_add %0, v44, %1", "global_atomic_add v40, %0, v44, %1 sc0"])
        return self._assembly(f"v_mov_b32 v44, 1\\n {form}", offset)
