"""What all tests share: which of them expect what a version of Triton does otherwise."""

from __future__ import annotations

from importlib.metadata import version

import pytest

TRITON = tuple(int(part) for part in version("triton").split(".")[:2])
CHANGED = (
    ("block_pointers", (3, 9), "Triton 3.9 has no block pointers any more"),
    ("row_softmax-tiles_of_rows", (3, 9), "Triton 3.9 has no block pointers any more"),
    ("[flip without its axis]", (3, 9), "Triton 3.9 flips along the last axis by default"),
    ("[a chained comparison]", (3, 9), "Triton 3.9 compiles chained comparisons of tiles"),
    ("outer-brackets_forgotten", (3, 9), "Triton 3.9 compiles chained comparisons of tiles"),
    ("spills_nothing[16384-torch.float16", (3, 8), "Triton 3.8 spills in plans that were tuned with older ones"),
    ("hardly_spills[16384-fp32", (3, 8), "Triton 3.8 spills in plans that were tuned with older ones"),
)
"""A part of a test's name, the version from which on it would expect too much, and why. See also test_versions.py."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for words, since, reason in CHANGED:
            if words in item.name and since <= TRITON and "test_versions" not in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=reason))
