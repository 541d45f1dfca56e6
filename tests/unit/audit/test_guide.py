"""docs/audit.md: it tells of every rule, and its example is a matrix."""

import re
from pathlib import Path

from rocmatrix.audit.rules import OTHER_RULES, RULE_IDS
from rocmatrix.plan.matrix import parse_matrix

GUIDE = (Path(__file__).parents[3] / "docs" / "audit.md").read_text()


def test_every_rule_has_a_row_in_the_order_in_which_they_speak() -> None:
    assert tuple(re.findall(r"^\| `([a-z0-9-]+)` \|", GUIDE, re.MULTILINE)) == RULE_IDS
    assert all(f"`{rule}`" in GUIDE for rule in OTHER_RULES)


def test_its_example_is_read() -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
    (kernel,) = parse_matrix(example.encode(), "matrix.yaml").kernels
    assert [waiver.rule for waiver in kernel.audit.waive] == ["needed"]
    assert kernel.audit.max_variant_size == 600_000_000


def test_the_limits_it_names_are_those_of_the_data() -> None:
    from rocmatrix.audit.policy import load_policy  # noqa: PLC0415 - only this test measures it

    policy = load_policy()
    assert f"at most {policy.size.file // 10**6} MB, a variant {policy.size.variant // 10**6} MB" in GUIDE
    for ceiling in policy.ceilings.values():
        assert f"{ceiling.family} {ceiling.highest}" in GUIDE
    assert f"up to {policy.python}" in GUIDE
    assert f"torch {policy.shim.oldest} to {policy.shim.newest}" in GUIDE
