"""The tree of sums: the same bits whichever shard adds which blocks."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phinmf.engines.compiled.summation import (
    ENOUGH_BLOCKS,
    MAX_FRAMES,
    MIN_FRAMES,
    Node,
    add_up,
    blocks_of,
    nodes_within,
    stretches_of,
    total,
)


@given(n=st.integers(1, 2 * ENOUGH_BLOCKS * MAX_FRAMES))
def test_blocks_fit_the_cache_and_keep_threads_busy(n):
    blocks = blocks_of(n)
    assert (blocks[0].start, blocks[-1].stop) == (0, n)
    assert all(a.stop == b.start for a, b in itertools.pairwise(blocks))
    lengths = [block.stop - block.start for block in blocks]
    assert max(lengths) - min(lengths) <= 1
    assert max(lengths) <= MAX_FRAMES
    assert len(blocks) == 1 or min(lengths) >= MIN_FRAMES
    assert len(blocks) >= ENOUGH_BLOCKS or min(lengths) < 2 * MIN_FRAMES
    if len(blocks) > ENOUGH_BLOCKS:
        assert len(blocks) == -(-n // MAX_FRAMES)  # no more than the cache asks for


def leaves(n, rng):
    scales = 10.0 ** rng.uniform(-8, 8, n)
    return [Node(1, [s * rng.standard_normal(3), float(s)]) for s in scales]


def by_halves(nodes):
    """The definition."""
    if len(nodes) == 1:
        return nodes[0].sums
    middle = len(nodes) // 2
    left, right = by_halves(nodes[:middle]), by_halves(nodes[middle:])
    return [a + b for a, b in zip(left, right, strict=True)]


@given(n=st.integers(1, 200), number=st.integers(1, 17), seed=st.integers(0, 99))
def test_stretches_add_up_to_the_bits_of_the_whole(n, number, seed):
    expected = by_halves(leaves(n, np.random.default_rng(seed)))
    stretches = stretches_of(n, number)
    assert (stretches[0].start, stretches[-1].stop) == (0, n)
    assert all(a.stop == b.start for a, b in itertools.pairwise(stretches))
    blocks = iter(leaves(n, np.random.default_rng(seed)))
    sent = []
    for stretch in stretches:
        sizes = nodes_within(n, stretch.start, stretch.stop)
        assert sum(sizes) == stretch.stop - stretch.start
        assert len(sizes) <= (1 if number & (number - 1) == 0 else 2)  # so few are sent
        sent += [add_up(size, blocks) for size in sizes]
    sums = total(n, sent)
    assert np.array_equal(sums[0], expected[0])
    assert sums[1] == expected[1]


def test_read_only_sums_are_not_changed():
    fixed = [np.ones(2), np.ones(2)]
    for array in fixed:
        array.flags.writeable = False
    assert total(2, [Node(1, [a]) for a in fixed])[0].tolist() == [2, 2]
    assert fixed[0].tolist() == [1, 1]
