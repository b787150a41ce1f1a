"""A report of the built-in example, small enough to be made by every test that needs one."""

import functools
from dataclasses import replace

import phinmf
from phinmf.audio.example import example
from phinmf.report.folder import report_of_arrays
from phinmf.report.page import html


@functools.cache
def example_report(seconds=10.0):
    """Five components of the example, as if they were in files."""
    sound = example()
    y = sound.mixture[: int(seconds * sound.sample_rate)]
    how = {"window": "20ms", "solver": "lbfgs", "n_atoms": None, "seed": 0, "learn_on": 200}
    u = phinmf.unmix(y, sound.sample_rate, 5, **how)
    report = report_of_arrays(u.components, u.model)
    components = [
        replace(part, file=f"component_{k:02}.wav") for k, part in enumerate(report.components, 1)
    ]
    facts = [("window", "20 ms"), ("sparsity", "10"), ("learning", u.model.stop_reason)]
    return replace(report, title="The built-in example", components=components, facts=facts)


def written(report, path):
    """Write the page of a report, and return its path."""
    path.write_text(html(report), encoding="utf-8")
    return path


HOSTILE = "\"'><script>window.attacked = 1</script><img src=x onerror='window.attacked = 1'>"


def hostile_report(report):
    """The same report with names that would like to be more than names."""
    components = [replace(part, name=HOSTILE, file=HOSTILE) for part in report.components]
    components[0] = replace(components[0], file="javascript:window.attacked=1")
    components[1] = replace(components[1], file="//elsewhere.invalid/x")
    facts = [(HOSTILE, HOSTILE + "</table></script>${title}")] * len(report.facts)
    return replace(report, title=HOSTILE, components=components, facts=facts)
