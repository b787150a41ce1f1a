"""A pass over a stream that stops and goes on, and streams that are not what they should be."""

import itertools
import os

import numpy as np
import pytest
from streams import BLOCK, M, cut, frames, learned, same

from phinmf import TLNMF, Status, storage, tl_nmf
from phinmf.fit.stream_file import Position
from phinmf.solvers import LBFGS


class Broken(Exception):
    pass


def broken(Y, after):
    """A stream that raises after some frames."""
    yield from cut(Y[:, :after])
    raise Broken


@pytest.mark.parametrize("after", [BLOCK + 1, 5 * BLOCK + 3])
@pytest.mark.parametrize("random_state", [0, None])
def test_a_stream_that_raises_leaves_a_checkpoint_to_go_on_from(tmp_path, after, random_state):
    Y, path = frames(N=9 * BLOCK + 4), tmp_path / "stream"
    with pytest.raises(Broken):
        learned(broken(Y, after), checkpoint=path, checkpoint_every=1e9, random_state=random_state)
    resumed = learned(cut(Y, 31), checkpoint=path, resume=True, random_state=random_state)
    if random_state is not None:
        same(resumed, learned(cut(Y)))
    again = learned(cut(Y, 5), resume=path, random_state=random_state)  # written at the end
    same(resumed, again)


def test_a_longer_stream_goes_on_where_a_shorter_one_ended(tmp_path):
    Y, path = frames(N=9 * BLOCK), tmp_path / "stream"
    learned(cut(Y[:, : 6 * BLOCK + 7]), checkpoint=path)
    same(learned(cut(Y), resume=path), learned(cut(Y)))


def test_an_interrupt_returns_what_was_learned(tmp_path):
    Y, path = frames(N=9 * BLOCK), tmp_path / "stream"

    def interrupted():
        yield from cut(Y[:, : 5 * BLOCK])
        raise KeyboardInterrupt

    result = learned(interrupted(), checkpoint=path)
    assert result.status is Status.INTERRUPTED
    same(learned(cut(Y), resume=path), learned(cut(Y)))
    with pytest.raises(KeyboardInterrupt):  # nothing was learned yet
        learned(itertools.chain([Y[:, :5]], (y for y in interrupted() if y.shape[1] > 17)))


@pytest.mark.parametrize("step", [5, 9])
def test_an_interrupted_callback_returns_what_was_learned(tmp_path, step):
    Y, path = frames(N=8 * BLOCK + 5), tmp_path / "stream"  # the ninth step has five frames

    def interrupt(state):
        if state.iteration == step:
            raise KeyboardInterrupt

    result = learned(cut(Y), checkpoint=path, callback=interrupt)
    assert result.status is Status.INTERRUPTED
    assert len(result.history) == step - 1  # the first fit has two blocks
    same(learned(cut(Y), resume=path), learned(cut(Y)))


def test_an_interrupt_between_learning_and_writing_repeats_no_row(tmp_path, monkeypatch):
    Y, path, calls = frames(N=8 * BLOCK), tmp_path / "stream", itertools.count()
    after = Position.after

    def interrupted(self, *where):
        if next(calls) == 4:
            raise KeyboardInterrupt
        return after(self, *where)

    with monkeypatch.context() as patch:
        patch.setattr(Position, "after", interrupted)
        learned(cut(Y), checkpoint=path)
    same(learned(cut(Y), resume=path), learned(cut(Y)))


def test_a_checkpoint_belongs_to_its_stream_and_options(tmp_path):
    Y, path = frames(N=6 * BLOCK), tmp_path / "stream"
    learned(cut(Y), checkpoint=path)
    with pytest.raises(ValueError, match="belongs to another stream: its first 144 frames"):
        learned(cut(Y[:, ::-1]), resume=path)
    with pytest.raises(ValueError, match="has seen 144 frames, but the stream has only 100"):
        learned(cut(Y[:, :100]), resume=path)
    with pytest.raises(ValueError, match="its forget_factor is 0.95, here it is 0.9"):
        learned(cut(Y), resume=path, forget_factor=0.9)
    with pytest.raises(ValueError, match="belongs to another run: its frames"):
        tl_nmf(Y, 2, resume=path)
    with pytest.raises(FileNotFoundError):
        learned(cut(Y), resume=tmp_path / "other")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("W", lambda a: -a),
        ("Phi", lambda a: a + 1),
        ("numerator", lambda a: a * np.nan),
        ("denominator", lambda a: a[:2]),
        ("window_Y", lambda a: a[:, :, :0]),
        ("window_births", lambda a: a + 1000),
        ("window_weights", lambda a: 0 * a),
    ],
)
def test_forged_checkpoints_are_refused_in_one_sentence(tmp_path, name, value):
    Y, path = frames(N=6 * BLOCK), tmp_path / "stream"
    learned(cut(Y), checkpoint=path)
    header, arrays = storage.read(path, "checkpoint")
    storage.write(path, "checkpoint", header, {**arrays, name: value(arrays[name])})
    os.replace(path, tmp_path / "forged")
    with pytest.raises(ValueError, match="is not a usable checkpoint"):
        learned(cut(Y), resume=tmp_path / "forged")


@pytest.mark.parametrize("name", ["step", "n_frames", "energy", "count", "n_seen", "fitted_at"])
def test_forged_numbers_are_refused_too(tmp_path, name):
    Y, path = frames(N=6 * BLOCK), tmp_path / "stream"
    learned(cut(Y), checkpoint=path)
    header, arrays = storage.read(path, "checkpoint")
    storage.write(path, "checkpoint", {**header, name: -1.5}, arrays)
    with pytest.raises(ValueError, match="is not a usable checkpoint"):
        learned(cut(Y), resume=path)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_atoms": 4}, "n_atoms is 4, but the strongest atoms of a stream are not known"),
        ({"smoothness": 1.0}, "smoothness is 1, but a sample of the frames"),
        ({"floor": 0.0}, "floor is 0, but an entry that is exactly zero may still arrive"),
        ({"engine": "dask"}, "engine is 'dask', but the frames of a stream are in memory"),
        ({"H": np.ones((2, 9))}, "H is given, but Y is a stream"),
        ({"sample_weight": np.ones(9)}, "sample_weight is given, but Y is a stream"),
        ({"frame_mask": np.ones(9, bool)}, "frame_mask is given, but Y is a stream"),
        ({"first_frames": [0]}, "first_frames is given, but Y is a stream"),
        ({"fixed": "H"}, "fixed asks for H to stay"),
        ({"forget_factor": 0.0}, "forget_factor is 0.0, but a finite number > 0 and ≤ 1 is"),
        ({"forget_factor": 1.5}, "forget_factor is 1.5, but a finite number > 0 and ≤ 1 is"),
        ({"block_size": 0}, "block_size is 0, but a whole number ≥ 1 is needed"),
        ({"n_components": 13}, "n_components is 13, but a whole number from 1 to 12 = M"),
        ({"W": np.ones((3, 2))}, r"W has shape \(3, 2\)"),
        ({"init": np.eye(5)}, r"init has shape \(5, 5\)"),
    ],
)
def test_what_needs_all_frames_at_once_is_refused(how, message):
    with pytest.raises(ValueError, match=message):
        learned(cut(frames(N=3 * BLOCK)), **how)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "the stream has no frames"),
        ([np.zeros((M, 0))], "the stream has no frames"),
        ([np.zeros((M, 5))] * 3, "the stream is all zero: there is nothing to learn"),
        ([np.ones((M, 5)), np.ones((M + 1, 5))], "block 2 of the stream has frames of 13 samples"),
        ([np.ones((M, 5)), np.ones((2, M, 5))], "on 2 channels, but the first block of 12 on 1"),
        ([np.ones((M, 5)), np.full((M, 2), np.nan)], "block 2 of the stream has 24 NaN or inf"),
        ([np.full((M, 2), np.inf)], "block 1 of the stream has 24 NaN or infinite values"),
        ([np.ones(M)], r"block 1 of the stream has shape \(12,\)"),
        ([1e200 * np.ones((M, 5))], "leaves the range of float64"),
        ([np.ones((M, 5), np.float32), np.full((M, 2), 1e39)], "block 2 .* that float32, the prec"),
    ],
)
def test_bad_blocks_are_refused_in_one_sentence(blocks, message):
    with pytest.raises(ValueError, match=message):
        learned(iter(blocks))


def test_only_a_checkpoint_must_be_able_to_compare_options(tmp_path):
    class Tracing(LBFGS):
        def __init__(self):
            super().__init__()
            object.__setattr__(self, "trace", [])

    Y = frames(N=3 * BLOCK)
    assert learned(cut(Y), solver=Tracing()).status is Status.STREAM_ENDED
    with pytest.raises(ValueError, match="a checkpoint cannot compare them"):
        learned(cut(Y), solver=Tracing(), checkpoint=tmp_path / "stream")


def test_a_model_can_be_learned_from_a_stream_and_used_on_frames():
    Y = frames(N=6 * BLOCK)
    result = learned(cut(Y))
    model = TLNMF(2, init=result.Phi, components=result.W.T, fixed=["Phi", "W"], max_iter=0, tol=0)
    assert model.fit_transform(Y.T).shape == (Y.shape[1], 2)
