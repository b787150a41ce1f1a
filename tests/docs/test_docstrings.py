"""Public docstrings follow the rules of numpydoc."""

import pytest
from reference import described, needs_sphinx

needs_sphinx()

from numpydoc.validate import validate

pytestmark = pytest.mark.full

#: Rules that hold for every public name: a summary in one line that ends with a stop; known
#: sections in their order; parameters that exist, in the order of the signature, each described by
#: sentences; a type alone in the first line of what is returned.
#: Left out, because the project decides otherwise:
#: GL01, GL02 (where the quotes are: the linter checks it), ES01 (a summary may say it all),
#: SS02, PR08, RT04 (a sentence may begin with a letter of a formula), SS05 (the same for verbs),
#: PR04 (arguments that are described "as in `tl_nmf`" have no type of their own),
#: SA01 (names in the text are links), EX01 (the guides and the gallery have the examples).
ALWAYS = {
    "GL03", "GL05", "GL06", "GL07", "GL08", "GL09", "GL10", "SS01", "SS03", "SS04", "SS06",
    "PR02", "PR03", "PR05", "PR06", "PR07", "PR09", "PR10", "RT02", "RT03", "RT05",
    "YD01", "SA02", "SA03", "SA04",
}  # fmt: skip
#: All parameters and what is returned are described, for what users call. The methods of base
#: classes and most functions of matrices are formulas, whose letters are those of the paper.
COMPLETE = {"PR01", "RT01"}
CALLED = (
    "phinmf.TLNMF.",
    "phinmf.Result.",
    "phinmf.Unmixing.",
    "phinmf.UnmixModel.",
    "phinmf.analysis.",
    "phinmf.report.",
    "phinmf.linalg.line_search.",
    "phinmf.linalg.manifold.dct",
    "phinmf.linalg.manifold.random_orthogonal",
)


def rules(name, kind):
    """The rules for one name; fields of classes are described as attributes."""
    called = name.count(".") == 1 or name.startswith(CALLED)
    drawn = name.startswith("phinmf.report.plots.")  # one sentence, and axes to draw on
    return ALWAYS | COMPLETE if called and kind in ("function", "method") and not drawn else ALWAYS


@pytest.mark.parametrize("name", sorted(set(described())))
def test_docstrings_follow_numpydoc(name):
    report = validate(name)
    broken = [rule for rule in report["errors"] if rule[0] in rules(name, report["type"])]
    assert not broken


def test_there_are_docstrings_to_check():
    assert len(set(described())) > 200
