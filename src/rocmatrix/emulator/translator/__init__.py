"""The fast executor: basic blocks of machine code as C, compiled by the ziglang package's clang."""
