"""A report of the built-in example, small enough to be made by every test that needs one."""

import functools
import warnings
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import phinmf
from phinmf.audio.example import example
from phinmf.report import Component, Report
from phinmf.result.masks import component_frames


@functools.cache
def example_report(seconds=10.0, n_components=5):
    """Five components of the example, learned in ten iterations."""
    sound = example()
    y = sound.mixture[: int(seconds * sound.sample_rate)]
    Y = phinmf.to_frames(y, 320)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        r = phinmf.tl_nmf(Y, n_components, sparsity=10, max_iter=10, tol=0, random_state=0)
    components = np.array(
        [
            phinmf.from_frames(frames, len(y))
            for frames in component_frames(Y, r.Phi, r.W, r.H, r.floor)
        ]
    )
    energies = np.square(components).sum(axis=1)
    order = energies.argsort()[::-1]
    shares = energies / energies.sum()
    heard = [
        Component(f"component {i}", components[k][:, None], f"component_{i:02}.wav", shares[k])
        for i, k in enumerate(order, 1)
    ]
    null = 10 * np.log10(np.square(y - components.sum(axis=0)).sum() / np.square(y).sum())
    return Report(
        title="The built-in example",
        sample_rate=sound.sample_rate,
        mixture=y[:, None],
        components=heard,
        start=0.0,
        Phi=r.Phi,
        W=r.W[:, order],
        H=r.H[order],
        history=r.history,
        facts=[
            ("null test", f"−{-null:.0f} dB"),
            ("window", "20 ms"),
            ("sparsity", "10"),
            ("seed", "0"),
            ("learning", r.status.value),
        ],
    )


HOSTILE = "\"'><script>window.attacked = 1</script><img src=x onerror='window.attacked = 1'>"


def hostile_report(report):
    """The same report with names that would like to be more than names."""
    components = [replace(one, name=HOSTILE, file=HOSTILE) for one in report.components]
    components[0] = replace(components[0], file="javascript:window.attacked=1")
    components[1] = replace(components[1], file="//elsewhere.invalid/x")
    facts = [(HOSTILE, HOSTILE + "</table></script>${title}")] * len(report.facts)
    return replace(
        report,
        title=HOSTILE,
        components=components,
        facts=facts,
    )
