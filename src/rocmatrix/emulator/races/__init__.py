"""Races of LDS and of global memory, and lanes that collide: who accessed what, and what orders two accesses."""
