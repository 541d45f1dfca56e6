"""The stand-in for libamdhip64.so in this process: launches come out as ``Launch``, memory is the arena's."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.host.arena import Arena
from rocmatrix.emulator.host.launch import Images, Launch, lay_out, own_arguments, own_size
from rocmatrix.emulator.host.profiles import Profile, structure
from rocmatrix.emulator.metadata import KernelMetadata
from rocmatrix.emulator.reports import FaultError, UnsupportedError
from rocmatrix.errors import InputError

SUCCESS, INVALID_VALUE, INVALID_CONFIGURATION, NO_BINARY, NOT_FOUND, LAUNCH_FAILURE = 0, 1, 9, 209, 500, 719
"""hipError_t (hip_runtime_api.h)."""

_UNKNOWN, _DEVICE, _HOST = 0, 1, 2


class _Dim3(ctypes.Structure):
    _fields_ = (("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32))

    def triple(self) -> tuple[int, int, int]:
        """Return the three extents."""
        return (self.x, self.y, self.z)


_Launch = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.POINTER(_Dim3),
    ctypes.POINTER(_Dim3),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_size_t,
    ctypes.c_void_p,
)
_HasKernel = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_Allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_Release = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_Touch = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
_KindOf = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_Refuse = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_Pending = ctypes.CFUNCTYPE(ctypes.c_int)


class _Callbacks(ctypes.Structure):
    """``HipCallbacks`` of ``hip.h``."""

    _fields_ = (
        ("launch", _Launch),
        ("has_kernel", _HasKernel),
        ("allocate", _Allocate),
        ("release", _Release),
        ("touch", _Touch),
        ("kind_of", _KindOf),
        ("refuse", _Refuse),
        ("pending", _Pending),
    )


class HipLibrary:
    """The loaded runtime. What C calls must not raise: it is kept, and ``check`` raises it."""

    def __init__(
        self, path: Path, arena: Arena, profile: Profile, execute: Callable[[Launch, CodeObject], None]
    ) -> None:
        """Load the library and connect it.

        Args:
            path: the stand-in.
            arena: memory of the device.
            profile: which device it says it has.
            execute: takes each launch; what it raises becomes the launch's failure.
        """
        self._library = ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        self._arena = arena
        self._execute = execute
        self._images = Images()
        self._failure: Exception | None = None
        self.remarks: list[str] = []
        """Launches and calls that the runtime answered with an error, which the launcher may have handled."""
        self._callbacks = _Callbacks(
            _Launch(self._launch),
            _HasKernel(self._has_kernel),
            _Allocate(self._allocate),
            _Release(self._release),
            _Touch(self._touch),
            _KindOf(self._kind_of),
            _Refuse(self._refuse),
            _Pending(lambda: LAUNCH_FAILURE if self._failure else SUCCESS),
        )
        self._profile = structure(profile, path.name)
        self._library.rocmatrix_hip_set(ctypes.byref(self._callbacks))
        self._library.rocmatrix_hip_set_profile(ctypes.byref(self._profile))

    def check(self) -> None:
        """Raise what went wrong on the device since the last time.

        Raises:
            FaultError: a kernel did something wrong.
            UnsupportedError: a kernel or a call is beyond what is emulated.
        """
        failure, self._failure = self._failure, None
        if failure:
            raise failure

    # -- called from C -------------------------------------------------------------------------------------------

    def _launch(  # noqa: PLR0917 - the callback's signature is that of hip.h
        self,
        image: int,
        kernel: bytes,
        grid: ctypes._Pointer[_Dim3],
        block: ctypes._Pointer[_Dim3],
        pointers: ctypes._Pointer[ctypes.c_void_p],
        buffer: int | None,
        buffer_size: int,
        shared: int,
        stream: int | None,
    ) -> int:
        """Work after a failure is not done, as on a device whose context is lost."""
        if self._failure:
            return LAUNCH_FAILURE
        try:
            data, code_object = self._images.code(image)
            metadata = code_object.kernel(kernel.decode()).metadata
        except InputError as err:
            return self._remark(NO_BINARY, str(err))
        except Exception as err:  # noqa: BLE001 - C cannot let it through; check() raises it
            self._failure = err
            return LAUNCH_FAILURE
        return self._started(
            lambda: Launch(
                code_object=data,
                kernel=metadata.name,
                grid=grid.contents.triple(),
                block=block.contents.triple(),
                dynamic_lds=shared,
                stream=stream or 0,
                arguments=_arguments(metadata, pointers, buffer, buffer_size),
            ),
            code_object,
        )

    def _started(self, make: Callable[[], Launch], code_object: CodeObject) -> int:
        """Execute a launch, once its arguments are read; return what the runtime says of it."""
        try:
            self._execute(make(), code_object)
        except InputError as err:
            return self._remark(INVALID_CONFIGURATION, str(err))
        except (FaultError, UnsupportedError) as err:
            self._failure = err  # the launch itself was fine: a device tells later
        except Exception as err:  # noqa: BLE001 - C cannot let it through; check() raises it
            self._failure = err
            return LAUNCH_FAILURE
        return SUCCESS

    def _remark(self, error: int, what: str) -> int:
        self.remarks.append(what)
        return error

    def _has_kernel(self, image: int, kernel: bytes) -> int:
        try:
            return int(kernel.decode() in self._images.code(image)[1].kernels)
        except (InputError, UnsupportedError) as err:
            self.remarks.append(str(err))
            return 0

    def _allocate(self, size: int, host: int) -> int | None:
        name = "pinned memory of the extension" if host else "memory from hipMalloc"
        block = self._arena.allocate(size, name, host=bool(host))
        return block.address if block else None

    def _release(self, address: int) -> int:
        if self._arena.free(address):
            return SUCCESS
        return self._remark(INVALID_VALUE, f"memory at {address:#x} is freed, where no allocation begins")

    def _touch(self, address: int | None, size: int, call: bytes) -> int:
        problem = self._arena.problem(address or 0, size) if size else None
        if problem is None and size and not address:
            problem = f"{size} bytes at a null pointer"
        if problem is None and size:
            self._arena.host_wrote(address or 0, size)  # of a copy both sides: what the source holds is not followed
        return SUCCESS if problem is None else self._remark(INVALID_VALUE, f"{call.decode()} touches {problem}")

    def _kind_of(self, address: int | None) -> int:
        block = self._arena.find(address or 0)
        if block is None:
            return _UNKNOWN
        return _HOST if block.host else _DEVICE

    def _refuse(self, what: bytes) -> None:
        self._failure = self._failure or UnsupportedError(what.decode())


def _arguments(
    metadata: KernelMetadata, pointers: ctypes._Pointer[ctypes.c_void_p], buffer: int | None, size: int
) -> bytes:
    """Return the arguments of a launch, which gives a pointer to each of them or all in one buffer."""
    if buffer is not None:
        return _from_buffer(metadata, buffer, size)
    return lay_out(metadata, [pointers[place] or 0 for place in range(len(own_arguments(metadata)))])


def _from_buffer(metadata: KernelMetadata, buffer: int, size: int) -> bytes:
    """Return the arguments out of a buffer, which may be padded at its end."""
    wanted = own_size(metadata)
    if size < wanted:
        what = f"the launch gives {size} bytes of arguments to {metadata.name}, which takes {wanted}"
        raise InputError(what, fix="Lay the arguments out as the kernel's parameters are.")
    return ctypes.string_at(buffer, wanted)
