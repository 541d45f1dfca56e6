"""Write the shipped schemas anew from the dataclasses."""

from pathlib import Path

from rocmatrix import schemas

for name in schemas.DOCUMENTS:
    Path(schemas.__file__).with_name(f"{name}.schema.json").write_bytes(schemas.generate(name))
