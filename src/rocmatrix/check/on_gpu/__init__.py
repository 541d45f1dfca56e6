"""The executor ``gpu``: numerical cases through torch in a container that has one GPU and nothing else of the machine.

Author's code is in two places. The kernel, its Python side included, is loaded by the container alone (``inside``):
from there come bytes that are taken for hostile. ``tests/cases.py`` makes the inputs and the float64 references in
processes of their own outside of it (``cases_process``), where the emulator's check reads them too, so that nothing
that a kernel does can touch what it is compared with; and an image needs no more than a torch.
"""
