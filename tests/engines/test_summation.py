"""The tree of sums: the same bits whichever shard adds which blocks."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phinmf.engines.compiled.summation import (
    Node,
    Tree,
    stretches_of,
    total,
)


def leaves(n, rng):
    scales = 10.0 ** rng.uniform(-8, 8, n)
    return [Node(i, i + 1, [s * rng.standard_normal(3), float(s)]) for i, s in enumerate(scales)]


def by_halves(nodes):
    """The definition."""
    if len(nodes) == 1:
        return nodes[0].sums
    middle = len(nodes) // 2
    left, right = by_halves(nodes[:middle]), by_halves(nodes[middle:])
    return [a + b for a, b in zip(left, right, strict=True)]


@given(n=st.integers(1, 200), number=st.integers(1, 17), seed=st.integers(0, 99))
def test_stretches_add_up_to_the_bits_of_the_whole(n, number, seed):
    rng = np.random.default_rng(seed)
    expected = by_halves(leaves(n, rng))
    stretches = stretches_of(n, number)
    assert (stretches[0].start, stretches[-1].stop) == (0, n)
    assert all(a.stop == b.start for a, b in itertools.pairwise(stretches))
    nodes = leaves(n, np.random.default_rng(seed))
    sent = []
    for stretch in stretches:
        tree = Tree(n)
        for node in nodes[stretch]:
            tree.add(node)
        assert len(tree.nodes) <= 2  # so few are sent
        sent += tree.nodes
    found = total(n, sent)
    assert np.array_equal(found[0], expected[0])
    assert found[1] == expected[1]


@pytest.mark.parametrize("number", [1, 2, 4, 8, 64])
def test_a_power_of_two_sends_one_node_each(number):
    n = 1000
    for stretch in stretches_of(n, number):
        tree = Tree(n)
        for i in range(stretch.start, stretch.stop):
            tree.add(Node(i, i + 1, [1.0]))
        assert [node.sums for node in tree.nodes] == [[float(stretch.stop - stretch.start)]]


@pytest.mark.parametrize("number", [2, 3, 4, 5, 6, 7])
def test_stretches_are_of_similar_length(number):
    sizes = [s.stop - s.start for s in stretches_of(1000, number)]
    assert len(sizes) == number
    assert max(sizes) <= 1.35 * 1000 / number


def test_read_only_sums_are_not_changed():
    fixed = [np.ones(2), np.ones(2)]
    for array in fixed:
        array.flags.writeable = False
    found = total(2, [Node(i, i + 1, [a]) for i, a in enumerate(fixed)])[0]
    found += 1
    assert found.tolist() == [3, 3]
    assert fixed[0].tolist() == [1, 1]
    (alone,) = total(1, [Node(0, 1, [fixed[0]])])
    alone += 1
    assert fixed[0].tolist() == [1, 1]
