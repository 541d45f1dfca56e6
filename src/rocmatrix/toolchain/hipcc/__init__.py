"""The toolchain that a ROCm brings along: hipcc and its clang, on this machine or in a container image.

The recipes ``hipcc``, ``almalinux``, ``therock``, ``debian`` and a user's own are all this toolchain; they differ in
where the programs are (``Setup``) and in the engine that runs them.
"""
