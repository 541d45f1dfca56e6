"""A machine with GPUs as its sysfs says it: values that the driver printed on real ones, in the driver's order."""

from __future__ import annotations

from pathlib import Path

CPU = {"cpu_cores_count": 96, "simd_count": 0, "gfx_target_version": 0, "vendor_id": 0, "device_id": 0}
MI300X = {
    "cpu_cores_count": 0,
    "simd_count": 1216,
    "wave_front_size": 64,
    "gfx_target_version": 90402,
    "vendor_id": 4098,
    "device_id": 29857,
    "location_id": 18176,
    "drm_render_minor": 128,
    "hive_id": 10631624818852212319,
    "unique_id": 4376936076086227261,
    "num_xcc": 8,
}
"""Of a host with eight in SPX mode, where render minors go by eight."""
MI308X = MI300X | {"simd_count": 80, "device_id": 29858, "unique_id": 598046273873802902, "num_xcc": 1}
MI250X = MI300X | {"gfx_target_version": 90010, "device_id": 29704, "unique_id": 7}


def nodes(folder: Path, *gpus: dict[str, int]) -> Path:
    """Make the KFD nodes of a machine with two processors and these GPUs; return their folder."""
    for number, fields in enumerate((CPU, CPU, *gpus)):
        node = folder / "nodes" / str(number)
        node.mkdir(parents=True)
        (node / "properties").write_text("".join(f"{name} {value}\n" for name, value in fields.items()))
        (node / "name").write_text("ip discovery\n" if fields["vendor_id"] else "\n")
    return folder / "nodes"
