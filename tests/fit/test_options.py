"""The one list of options: signatures, defaults and checks."""

import inspect
from dataclasses import fields, replace

import numpy as np
import pytest
from problems import notes

import phinmf
from phinmf import TLNMF, Anneal, Beta, Checkpoint, Method, learn_transform, tl_nmf
from phinmf.algorithm.options import Options
from phinmf.solvers import QuasiNewton
from phinmf.unmixing.options import UnmixOptions

#: Defaults of their own: of `learn_transform`, whose outer iterations have no NMF, and of `unmix`.
OWN = {
    learn_transform: {"method": Method(n_iter_transform=5), "max_iter": 200, "tol": 1e-6},
    UnmixOptions: {"n_atoms": 0.99, "sparsity": 10.0},
    phinmf.unmix: {"n_atoms": 0.99, "sparsity": 10.0},
}


def defaults(function):
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters}


@pytest.mark.parametrize("function", [tl_nmf, TLNMF, learn_transform, phinmf.unmix, UnmixOptions])
def test_signatures_follow_the_options(function):
    options = {field.name: field.default for field in fields(Options)} | OWN.get(function, {})
    signature = defaults(function)
    shared = options.keys() & signature.keys()
    assert {name: signature[name] for name in shared} == {name: options[name] for name in shared}
    if function in (tl_nmf, TLNMF):
        assert shared == options.keys()


def test_tl_nmf_has_few_arguments_and_the_estimator_has_them_too():
    names = set(defaults(tl_nmf))
    assert len(names) == 24
    elsewhere = {"Y", "W", "H", "sample_weight"}  # arguments of `fit`, or `components`
    assert names - elsewhere <= set(defaults(TLNMF))


def test_options_are_resolved_and_stay_so():
    options = Options(solver="quasi-newton", divergence=Beta(3), method=Method(anneal=None))
    assert options.solver == QuasiNewton()
    assert options.anneal is None
    assert options.nmf_exponent == 0.5
    annealed = Options(method=Method(anneal=Anneal(length=5)))
    assert annealed.keeping_Phi().anneal == Anneal(length=5)
    assert replace(annealed, max_iter=3).init is annealed.init
    assert Options(solver=None).anneal == Anneal()
    assert Options(max_time=3.0).after(5.0).max_time == 0


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_iter_nmf": -1}, "n_iter_nmf is -1, but a whole number ≥ 0"),
        ({"n_iter_transform": 0}, "n_iter_transform is 0"),
        ({"nmf_exponent": 0}, "nmf_exponent is 0, but a finite number > 0"),
        ({"nmf_exponent": 1.5}, "nmf_exponent is 1.5.*> 0 and ≤ 1"),
        ({"anneal": "yes"}, "anneal is 'yes', which is not known"),
    ],
)
def test_bad_methods(how, message):
    with pytest.raises(ValueError, match=message):
        Method(**how)


def test_bad_checkpoints():
    with pytest.raises(TypeError, match="checkpoint is 3, but the path of a file is needed"):
        tl_nmf(notes(), 2, checkpoint=3)
    with pytest.raises(FileNotFoundError, match="its folder does not exist"):
        tl_nmf(notes(), 2, checkpoint="no/such/folder/run")
    with pytest.raises(TypeError, match="resume is 'run', but True or False is needed"):
        Checkpoint("run", resume="run")
    with pytest.raises(ValueError, match="every is -1, but a finite number ≥ 0 is needed"):
        Checkpoint("run", every=-1)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("beta_loss", "divergence"),
        ("alpha_H", "sparsity"),
        ("n_iter", "max_iter"),
        ("anneal", r"method=phinmf.Method\(anneal=...\)"),
    ],
)
def test_other_names_are_answered_with_ours(name, ours):
    for call in (lambda **how: tl_nmf(notes(), 2, **how), TLNMF):
        with pytest.raises(TypeError, match=f"{name} is not an argument of phinmf: use {ours}"):
            call(**{name: 1})


def test_the_papers_setting_is_one_method():
    r = tl_nmf(notes(), 2, sparsity=150, max_iter=3, tol=0, random_state=0, **phinmf.PAPER)
    apart = {"solver": "quasi-newton", "floor": 1e-10, "sparsity": 150}
    apart["method"] = Method(anneal=False, n_iter_nmf=1, n_iter_transform=5, nmf_exponent=0.5)
    again = tl_nmf(notes(), 2, max_iter=3, tol=0, random_state=0, **apart)
    assert np.array_equal(r.Phi, again.Phi)
