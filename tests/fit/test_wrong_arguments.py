"""What is wrong with an argument is said in one sentence: what was passed, and what to pass."""

import numpy as np
import pytest
from pandas import DataFrame
from problems import notes, sound
from scipy.sparse import csr_matrix
from tensor_problems import tensor

import phinmf
from phinmf import TLNMF, Checkpoint, Method, learn_transform, tl_nmf
from phinmf.analysis import atom_frequencies
from phinmf.divergences import Beta, ItakuraSaito
from phinmf.errors import UserError
from phinmf.inits import JointDiagonalisation
from phinmf.solvers import LBFGS, Jacobi, QuasiNewton

Y = notes(M=8, n=100)
M, N = Y.shape
RNG = np.random.default_rng(0)
SOUND, STEREO = RNG.standard_normal(2000), RNG.standard_normal((2, 500))
MASKED = np.ma.masked_array(Y, np.arange(Y.size).reshape(Y.shape) < 3)
NOT_FINITE = "not finite at the start: .* if floor is 0, .* such as 1e-8"
GIVE = pytest.mark.parametrize("give", [np.asarray, tensor])


def refused(call, message):
    with pytest.raises(UserError, match=message) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    assert ". " not in text
    assert len(text) < 280


@GIVE
@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (np.ones(5), "Y has 1 dimensions.*to_frames"),
        (np.ones((1, 1, 1, 1)), "Y has 4 dimensions"),
        (np.ones((3, 0)), r"Y has shape \(3, 0\), but at least one sample"),
        (np.where(Y[0, 1] == Y, np.nan, Y), "Y has 1 NaN or infinite values: remove or replace"),
        (np.where(Y[0, 1] == Y, np.inf, Y), "Y has 1 NaN or infinite values"),
        (Y + 0j, r"Y is complex, but frames of samples.*phinmf\.to_frames"),
        (np.zeros((4, 6)), "Y is all zero: there is nothing to learn"),
        (np.full((4, 6), 1e300), r"samples up to 1e\+300.*scale them nearer to 1"),
        ([np.ones(2), np.ones(3)], r"Y is \[array.*, but frames"),
    ],
)
def test_frames(frames, message, give):
    given = give(frames) if isinstance(frames, np.ndarray) else frames
    refused(lambda: tl_nmf(given, 2), message)


#: Values that are wrong whatever the other arguments are.
WRONG = {
    "n_components": [0, 9, "12"],
    "sparsity": [-1, "much", 1e30],
    "smoothness": [-1],
    "floor": [None],
    "max_iter": [-1, None],
    "solver": ["newton"],
    "divergence": ["hellinger", ItakuraSaito, None],
    "engine": ["abacus"],
    "random_state": ["seed"],
    "pairs": [None],
    "init": ["fourier", np.eye(3), np.ones(8), 2 * np.eye(8), np.full((8, 8), np.nan)],
    "W": [np.ones((8, 3)), -np.ones((8, 2))],
    "H": [np.ones((2, 3)), np.full((2, N), np.nan)],
    "fixed": ["W", "H", "Psi"],
    "sample_weight": [np.ones(3), -np.ones(N), 1e10],
    "n_atoms": [0, 9, "many", 1.5],
    "checkpoint": [3],
    "beta_loss": [1],
    "anneal": [True],
}


@GIVE
@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_the_argument_that_is_wrong_is_named(name, value, give):
    value = give(value) if isinstance(value, np.ndarray) else value
    refused(lambda: tl_nmf(give(Y + 1), **{"n_components": 2, name: value}), rf"^{name}\b")


@GIVE
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"solver": "newton"}, "choose one of .*'quasi-newton'.*None"),
        ({"divergence": ItakuraSaito}, "subclass phinmf.Divergence and pass"),
        ({"beta_loss": 1}, "use divergence"),
        ({"anneal": True}, r"method=phinmf.Method\(anneal=...\)"),
        ({"smoothness": 2, "divergence": "euclidean"}, "the updates of Beta"),
        ({"init": np.tile([1e300, -1e300], (8, 4))}, "not orthogonal"),
        ({"W": np.full((8, 2), 1e-310), "fixed": "W"}, "leave the range of float64"),
        ({"W": np.eye(8)[:, :2], "floor": 0}, NOT_FINITE),
        ({"W": np.ones((8, 2)), "fixed": {"W": [5]}}, r"columns \[5\] of W to stay.* are 0 to 1"),
        ({"H": np.full((2, N), 1e308), "fixed": "H"}, NOT_FINITE),
        ({"sample_weight": np.zeros(N)}, "every frame has a weight of zero"),
        ({"n_atoms": 5, "solver": None}, "solver is None, which learns no atoms"),
        ({"n_atoms": 5, "fixed": "Phi"}, "n_atoms is set and fixed names Phi"),
        ({"n_atoms": 5, "W": np.ones((8, 2)), "fixed": {"W": [0]}}, "is set and fixed names W"),
    ],
)
def test_what_to_pass_instead_is_said(how, message, give):
    given = {n: give(x) if isinstance(x, np.ndarray) else x for n, x in how.items()}
    refused(lambda: tl_nmf(give(Y + 1), **{"n_components": 2, **given}), message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Method(n_iter_nmf=-1), "n_iter_nmf is -1, but a whole number ≥ 0"),
        (lambda: Method(nmf_exponent=1.5), "nmf_exponent is 1.5.*> 0 and ≤ 1"),
        (lambda: Method(anneal="yes"), "anneal is 'yes', which is not known"),
        (lambda: Checkpoint("run", resume="run"), "resume is 'run', but True or False is needed"),
        (lambda: JointDiagonalisation(n_stretches=0), "n_stretches is 0"),
        (lambda: Beta(3.5), "beta is 3.5"),
        (lambda: LBFGS(metric="nope"), "metric is 'nope', which is not known"),
        (lambda: LBFGS(memory_size=-1), "memory_size is -1, but a whole number ≥ 0"),
        (lambda: QuasiNewton(retraction=None), "retraction is None, which is not known"),
        (lambda: Jacobi(n_refine=0), "n_refine is 0, but a whole number ≥ 1"),
        (lambda: TLNMF(n_iter=3), "n_iter is not an argument of phinmf: use max_iter"),
        (lambda: learn_transform(Y, -np.ones_like(Y)), "V_hat has .* negative values"),
        (lambda: learn_transform(Y, np.ones_like(Y), solver=None), "solver is None.*name a solver"),
        (lambda: learn_transform(Y + 1, 0 * Y, floor=0), NOT_FINITE),
        (lambda: tl_nmf("a.wav", 2), "Y is .a.wav., but frames .*frames_from_files"),
        (lambda: tl_nmf(csr_matrix(Y), 2), r"Y is sparse, but .*: pass Y\.toarray\(\)"),
        (lambda: tl_nmf(MASKED, 2), r"Y has 3 masked values.*Y\.filled\(0\), and a sa"),
        (lambda: tl_nmf((SOUND, 8000), 2), r"Y is \(array.*, but frames"),
        (lambda: phinmf.to_frames("a.wav", 16), "y is 'a.wav', but the samples .* soundfile.read"),
        (lambda: phinmf.to_frames(STEREO, 16), r"\(2, 500\), which is 2 samples .* pass y.T$"),
        (lambda: phinmf.to_frames([], 16), r"y has shape \(0,\), but \(n,\) or .* n ≥ 1 is needed"),
        (lambda: phinmf.to_frames(SOUND, 16.5), "M is 16.5, but a whole number is needed"),
        (lambda: phinmf.unmix("a.wav", 8000), "y is 'a.wav', but the samples .* soundfile.read"),
        (lambda: phinmf.unmix(STEREO, 8000), "500 channels, but the samples .* pass y.T"),
        (lambda: phinmf.unmix(SOUND, 8000, True), "n_components is True, but a whole number"),
        (lambda: phinmf.unmix(SOUND, "8000"), "sample_rate is '8000', but a whole number"),
        (lambda: atom_frequencies(Y.T, "8000"), "sample_rate is '8000', but a finite"),
    ],
)
def test_other_arguments(call, message):
    refused(call, message)


def test_a_checkpoint_needs_a_folder():
    with pytest.raises(FileNotFoundError, match="its folder does not exist"):
        tl_nmf(notes(), 2, checkpoint="no/such/folder/run")


DOORS = pytest.mark.parametrize(
    "door",
    [
        lambda Y, **how: tl_nmf(Y, 2, **how),
        lambda Y, **how: learn_transform(Y, np.ones_like(Y), **how),
    ],
)


@DOORS
@pytest.mark.parametrize(
    ("dtype", "floor"), [("float32", 0), ("float32", 1e-13), ("float64", 1e-31)]
)
def test_a_floor_below_rounding(door, dtype, floor):
    """There 1/v̂² overflows, and the objective is noise."""
    frames = (Y + 1).astype(dtype)
    refused(lambda: door(frames, floor=floor), f"floor is {floor:g}, but in {dtype} at least .* is")


@DOORS
def test_a_floor_of_zero_needs_power_in_every_entry(door, rng):
    silent = np.concatenate([Y, np.zeros((M, 2))], axis=1)
    refused(lambda: door(silent, floor=0), "floor is 0 but 2 frames are exactly zero.*such as 1e-8")
    refused(lambda: door(np.eye(4), init=np.eye(4), floor=0), NOT_FINITE)
    one = np.outer(rng.standard_normal(6), rng.standard_normal(40))
    two = one + np.outer(rng.standard_normal(6), rng.standard_normal(40))
    for frames, rank in ((one, 1), (two, 2), (rng.standard_normal((6, 4)), 4)):
        refused(lambda: door(frames, floor=0), f"frames have rank {rank}, and the tr")  # noqa: B023
    faint = rng.standard_normal((6, 40)) * np.where(np.arange(40) == 3, 1e-10, 1)
    result = door(faint, floor=0, max_iter=30, tol=0)
    assert np.isfinite([*result.history.objective, *result.history.target_objective]).all()
    fixed = tl_nmf(one, 1, floor=0, solver=None, max_iter=30, tol=0)
    assert np.isfinite(fixed.history.objective).all()


@pytest.mark.parametrize("dtype", [np.int16, np.uint8, np.float16, bool])
def test_other_numbers_are_converted(dtype):
    frames = (200 * RNG.random((4, 30))).astype(dtype)
    before = frames.copy()
    assert tl_nmf(frames, 2, max_iter=2, tol=0).Phi.dtype == np.float64
    assert np.array_equal(frames, before)


def test_lists_tables_and_arrays_without_masked_values_are_accepted():
    frames, how = sound()[0], {"max_iter": 1, "tol": 0, "random_state": 0}
    expected = tl_nmf(frames, 2, **how).objective
    for same in (frames.tolist(), DataFrame(frames), np.ma.masked_array(frames)):
        assert tl_nmf(same, 2, **how).objective == expected
