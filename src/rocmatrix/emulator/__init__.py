"""SERVICE: executes gfx942 machine code on a CPU, one wavefront of 64 lanes at a time."""
