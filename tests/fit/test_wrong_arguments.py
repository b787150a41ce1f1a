"""What is wrong with an argument is said in one sentence: what was passed, and what to pass."""

import numpy as np
import pytest
from few_atoms import sound
from pandas import DataFrame
from problems import notes
from scipy.sparse import csr_matrix
from tensor_problems import tensor

import phinmf
from phinmf import TLNMF, Checkpoint, Method, learn_transform, tl_nmf
from phinmf.analysis import atom_frequencies
from phinmf.divergences import Beta, ItakuraSaito
from phinmf.errors import UserError
from phinmf.inits import JointDiagonalisation

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


@GIVE
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_components": 0}, r"n_components is 0.*from 1 to 8 = min\(M=8, N="),
        ({"n_components": 9}, "n_components is 9.*from 1 to 8"),
        ({"n_components": "12"}, "n_components is '12', but a whole number"),
        ({"n_components": "auto", "fixed": "W"}, "fixed asks for W to stay, but no W is given"),
        ({"sparsity": -1}, "sparsity is -1, but a finite number ≥ 0"),
        ({"smoothness": -1}, "smoothness is -1, but a finite number ≥ 0"),
        ({"smoothness": 2, "divergence": "euclidean"}, "smoothness is 2, but the updates of Beta"),
        ({"sparsity": "much"}, "sparsity is 'much', but a finite number"),
        ({"floor": None}, "floor is None, but a finite number ≥ 0"),
        ({"sparsity": 1e30}, "sparsity is 1e.30, .* ≤ 1e.18"),
        ({"max_iter": -1}, "max_iter is -1"),
        ({"max_iter": None}, "max_iter is None, but a whole number"),
        ({"solver": "newton"}, "solver is 'newton'.*choose one of .*'quasi-newton'.*None"),
        ({"divergence": "hellinger"}, "divergence is 'hellinger'.*'itakura-saito', 'gaussian'"),
        ({"divergence": ItakuraSaito}, "divergence is .*subclass phinmf.Divergence and pass"),
        ({"divergence": None}, "divergence is None, but .*subclass phinmf.Divergence"),
        ({"engine": "abacus"}, "engine is 'abacus'.*'auto', 'compiled', 'array'"),
        ({"random_state": "seed"}, "random_state is 'seed'"),
        ({"pairs": None}, "pairs is None, which is not known: choose one of False, True"),
        ({"init": "fourier"}, "init is 'fourier'.*choose one of 'dct', 'dft', 'random'"),
        ({"init": np.eye(3)}, r"init has shape \(3, 3\).*length 8 has shape \(8, 8\)"),
        ({"init": np.ones(8)}, r"init has shape \(8,\), but .* has shape \(M, M\)"),
        ({"init": np.tile([1e300, -1e300], (8, 4))}, "init is not orthogonal"),
        ({"init": np.full((8, 8), np.nan)}, "init has 64 NaN"),
        ({"init": 2 * np.eye(8)}, r"init is not orthogonal: \|ΦΦᵀ - I\| reaches 3, but at most"),
        ({"W": np.ones((8, 3))}, r"W has shape \(8, 3\), but \(8, 2\) is needed"),
        (
            {"W": np.full((8, 2), 1e-310), "fixed": "W"},
            "the factors leave the range of float64",
        ),
        ({"W": np.eye(8)[:, :2], "floor": 0}, NOT_FINITE),
        ({"H": np.ones((2, 3))}, rf"H has shape \(2, 3\), but \(2, {N}\) is needed"),
        ({"H": np.full((2, N), np.nan)}, f"H has {2 * N} NaN"),
        ({"H": np.full((2, N), 1e308), "fixed": "H"}, NOT_FINITE),
        ({"W": -np.ones((8, 2))}, "W has 16 negative values, the least -1"),
        ({"fixed": "W"}, "fixed asks for W to stay, but no W is given"),
        ({"fixed": "H"}, "fixed asks for H to stay, but no H is given"),
        ({"fixed": "Psi"}, "fixed is 'Psi', which is not known"),
        ({"sample_weight": np.ones(3)}, r"sample_weight has shape \(3,\)"),
        ({"sample_weight": -np.ones(N)}, "sample_weight has a value of -1"),
        ({"sample_weight": np.zeros(N)}, "every frame has a weight of zero"),
        ({"sample_weight": 1e10}, "sample_weight reaches 1e.10, .*divide all weights"),
        ({"n_atoms": 0}, "n_atoms is 0, but a whole number ≥ 1"),
        ({"n_atoms": 9}, "n_atoms is 9, but frames of 8 samples have 8 atoms"),
        ({"n_atoms": "many"}, "n_atoms is 'many', but"),
        ({"n_atoms": 1.5}, "n_atoms is 1.5, but a whole number of atoms, or a share of the energy"),
        ({"n_atoms": 5, "solver": None}, "n_atoms is 5, but solver is None, which learns no atoms"),
        ({"n_atoms": 5, "fixed": "Phi"}, "n_atoms is set and fixed names Phi"),
        ({"n_atoms": 5, "W": np.ones((8, 2)), "fixed": {"W": [0]}}, "is set and fixed names W"),
        ({"beta_loss": 1}, "beta_loss is not an argument of phinmf: use divergence"),
        ({"anneal": True}, r"anneal is not an argument .*method=phinmf.Method\(anneal=...\)"),
        ({"checkpoint": 3}, "checkpoint is 3, but the path of a file is needed"),
    ],
)
def test_arguments_of_tl_nmf(how, message, give):
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
        (lambda: JointDiagonalisation(floor=0.0), "floor is 0"),
        (lambda: Beta(3.5), "beta is 3.5"),
        (lambda: Beta(-1.5), "beta is -1.5"),
        (lambda: Beta("one"), "beta is 'one'"),
        (lambda: TLNMF(n_iter=3), "n_iter is not an argument of phinmf: use max_iter"),
        (lambda: learn_transform(Y, -np.ones_like(Y)), "V_hat has .* negative values"),
        (lambda: learn_transform(Y, np.ones_like(Y), solver=None), "solver is None.*name a solver"),
        (lambda: learn_transform(Y + 1, 0 * Y, floor=0), NOT_FINITE),
        (lambda: tl_nmf(np.array([["a"]]), 1), "Y is array.*, but frames of samples are needed"),
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
