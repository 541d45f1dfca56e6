"""Doctor's probes look, bound their waiting and never raise."""

import socket
import threading
from pathlib import Path

import pytest

from rocmatrix.machine import Health, Probe, index, probe_all, system, toolchains


def test_everything_is_looked_at_and_says_what_it_is_for(tmp_path: Path) -> None:
    probes = probe_all(out=tmp_path / "dist", cache=tmp_path / "cache", recipes=("llvm", "hipcc"), online=False)
    assert [probe.name for probe in probes] == [
        "a toolchain",
        "llvm",
        "hipcc",
        "Python",
        "cores",
        "memory",
        "disk, output",
        "disk, cache",
        "git",
        "git-lfs",
        "emulator",
        "extra release",
        "extra hub",
        "engine host",
        "docker",
        "podman",
        "GPU",
        "package index",
    ]
    assert all(probe.detail and probe.needed_by for probe in probes)
    assert not (tmp_path / "dist").exists()


def test_toolchains_that_this_version_cannot_use_are_not_looked_for(tmp_path: Path) -> None:
    probes = probe_all(out=tmp_path, cache=tmp_path, recipes=("llvm",), online=False)
    assert "hipcc" not in [probe.name for probe in probes]


def test_a_probe_that_fails_stops_none_of_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_MEMINFO", tmp_path / "absent")
    probes = {probe.name: probe for probe in probe_all(out=tmp_path, cache=tmp_path, recipes=("llvm",), online=False)}
    assert probes["memory"].health is Health.SKIPPED
    assert "No such file" in probes["memory"].detail
    assert probes["cores"].health is Health.OK


def test_without_any_toolchain_the_main_job_cannot_run() -> None:
    missing = Probe(name="llvm", health=Health.MISSING, detail="x", needed_by="y")
    found = toolchains.any_toolchain([missing])
    assert (found.health, found.blocks_run) == (Health.MISSING, True)
    assert found.fix


def test_a_folder_that_cannot_be_written_is_missing_whatever_the_space(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    probe = system.disk("disk, output", tmp_path / "file" / "dist")
    assert (probe.health, probe.blocks_run) == (Health.MISSING, True)


def test_too_little_disk_is_low_and_says_how_much_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "DISK_NEEDED", 2**62)
    probe = system.disk("disk, output", tmp_path / "not" / "yet")
    assert probe.health is Health.LOW
    assert str(tmp_path) in probe.detail
    assert probe.fix


def test_memory_is_held_against_the_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:       1 kB\nMemAvailable:       2 kB\n")
    monkeypatch.setattr(system, "_MEMINFO", meminfo)
    probe = system.memory()
    assert (probe.health, probe.fix) == (Health.LOW, "Use --jobs 1.")


def test_a_docker_daemon_is_asked_over_its_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(1)

        def answer() -> None:
            link, _ = server.accept()
            with link:
                link.recv(4096)
                link.sendall(b"HTTP/1.1 200 OK\r\nServer: Docker/29.3.0 (linux)\r\nContent-Length: 2\r\n\r\nOK")

        thread = threading.Thread(target=answer)
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        probe = toolchains.docker()
        thread.join()
    assert probe.health is Health.OK
    assert "Docker/29.3.0" in probe.detail


@pytest.mark.parametrize("there", [True, False])
def test_a_docker_daemon_that_does_not_answer_is_missing(
    *, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    monkeypatch.setattr(toolchains, "TIMEOUT", 0.2)
    with socket.socket(socket.AF_UNIX) as server:
        if there:
            server.bind(str(path))
            server.listen(1)
        probe = toolchains.docker()
    assert probe.health is Health.MISSING
    assert str(path) in probe.detail


def test_hipcc_is_found_below_rocm_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "bin" / "hipcc"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\necho 'HIP version: 7.2.4'\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    probe = toolchains.hipcc()
    assert probe.health is Health.OK
    assert "HIP version: 7.2.4" in probe.detail


def test_the_package_index_is_not_asked_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", lambda *_arguments, **_options: pytest.fail("it was asked"))
    assert index.package_index(online=False).health is Health.SKIPPED
