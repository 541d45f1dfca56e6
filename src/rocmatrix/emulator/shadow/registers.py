"""Undefined bits of a wave's registers, in a layout that generated code reads too (``runtime/shadow.h``)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rocmatrix.cases import Array
from rocmatrix.emulator.instruction import RegisterFile, scalar_name
from rocmatrix.emulator.semantics.machine import WAVE
from rocmatrix.emulator.shadow.origin import Origin

Words = NDArray[np.uint32]
Bools = NDArray[np.bool_]

LAYOUT = np.dtype(
    [
        ("vgpr_lanes", np.uint64, 256),
        ("agpr_lanes", np.uint64, 256),
        ("vgprs", np.uint32, (256, WAVE)),
        ("agprs", np.uint32, (256, WAVE)),
        ("sgprs", np.uint32, 128),
        ("scc", np.uint64),
        ("lds", np.uint64),
        ("scratch", np.uint64),
    ]
)
"""``struct shadow``. The lanes of a vector register are those in which some bit of it is undefined."""
_ALL = 0xFFFFFFFF


@dataclass(frozen=True, kw_only=True)
class VectorShadow:
    """One file of vector registers.

    Attributes:
        letter: how its registers are named.
        bits: undefined bits, shape (256, 64).
        lanes: for each register a mask of the lanes in which it has any.
        origins: register -> where its undefined bits come from; others were never written.
    """

    letter: str
    bits: Words
    lanes: NDArray[np.uint64]
    origins: dict[int, Origin] = field(default_factory=dict)

    def origin(self, index: int) -> Origin:
        """Return where a register's undefined bits come from."""
        return self.origins.get(index) or Origin(what=f"{self.letter}{index}")

    def read(self, index: int) -> Words | None:
        """Return the undefined bits of a register, ``None`` where it has none."""
        return self.bits[index].copy() if self.lanes[index] else None

    def write(self, index: int, undefined: Array | None, origin: Origin | None, where: Bools) -> None:
        """Set the undefined bits of a register in some lanes."""
        if undefined is None:
            if not self.lanes[index]:
                return
            self.bits[index][where] = 0
        else:
            np.copyto(self.bits[index], undefined, where=where)
            if origin is not None and (where & (undefined != 0)).any():
                self.origins[index] = origin
        self.refresh(index)

    def refresh(self, index: int) -> None:
        """Bring the mask of lanes up to date."""
        self.lanes[index] = np.packbits(self.bits[index] != 0, bitorder="little").view(np.uint64)[0]


class RegisterShadow:
    """All registers of a wave.

    Attributes:
        memory: everything in the layout of ``LAYOUT``.
        vgprs, agprs: vector registers.
        sgprs: undefined bits of scalar registers.
        scalar_origins: scalar register -> where its undefined bits come from; 253 is SCC.
    """

    def __init__(self) -> None:
        """Start with everything undefined."""
        self.memory = np.zeros((), dtype=LAYOUT)
        self.vgprs = VectorShadow(letter="v", bits=self.memory["vgprs"], lanes=self.memory["vgpr_lanes"])
        self.agprs = VectorShadow(letter="a", bits=self.memory["agprs"], lanes=self.memory["agpr_lanes"])
        self.sgprs: Words = self.memory["sgprs"]
        self.scalar_origins: dict[int, Origin] = {}
        for file in (self.vgprs, self.agprs):
            file.bits[:] = _ALL
            file.lanes[:] = np.uint64((1 << WAVE) - 1)
        self.sgprs[:] = _ALL
        self.scc = True

    @property
    def scc(self) -> bool:
        """Whether SCC is undefined."""
        return bool(self.memory["scc"])

    @scc.setter
    def scc(self, undefined: bool) -> None:
        self.memory["scc"] = undefined

    def file(self, file: RegisterFile) -> VectorShadow:
        """Return a file of vector registers."""
        return self.agprs if file is RegisterFile.AGPR else self.vgprs

    def scalar_origin(self, index: int) -> Origin:
        """Return where the undefined bits of a scalar register, or of SCC, come from."""
        return self.scalar_origins.get(index) or Origin(what=scalar_name(index))
