"""Branches that go over nothing: what is in between only takes time.

Compilers put such code between the two entries of a kernel whose arguments may be preloaded.
"""

from __future__ import annotations

from rocmatrix.emulator.instruction import Instruction
from tests.mutation.operators import Listing


def goes_over_nothing(listing: Listing, branch: Instruction) -> bool:
    """Say whether code behind an ``s_branch`` comes to its target by itself, through ``s_nop`` alone.

    Wait states that are longer are no hazard, and a path that leads in between meets the same ones either way.
    """
    if branch.name != "s_branch" or branch.branch_target < branch.next_address:
        return False
    between = [each for each in listing.instructions if branch.next_address <= each.address < branch.branch_target]
    size = sum(each.size for each in between)
    return all(each.name == "s_nop" for each in between) and branch.next_address + size == branch.branch_target
