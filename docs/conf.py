"""Settings of the documentation site: ``make docs`` writes docs/_build/html."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "extensions"))
sys.path.insert(0, str(ROOT / "src"))

from numpydoc.xref import DEFAULT_LINKS  # noqa: E402

import phinmf  # noqa: E402

project = "phinmf"
author = "the phinmf developers"
copyright = author
release = version = phinmf.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "docstrings",
    "mathml",
    "repository",
]
EXAMPLES, GALLERY = ROOT / "examples", HERE / "examples"
if (EXAMPLES / "README.rst").exists():
    extensions.append("sphinx_gallery.gen_gallery")
else:  # a copy of the project without them
    GALLERY.mkdir(exist_ok=True)
    (GALLERY / "index.rst").write_text("Examples\n========\n\nThere are none here.\n")
sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "examples",
    "filename_pattern": "/",  # all of them run, whatever their name
    "ignore_pattern": "/_",
    "within_subsection_order": "gallery_order.FromEasyToLarge",
    "download_all_examples": False,
    "thumbnail_size": (800, 560),
    "show_memory": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
}

exclude_patterns = ["_build", "templates"]
templates_path = ["templates"]
nitpicky = True
nitpick_ignore_regex = [("py:obj", ".*")]  # `sparsity` in a docstring may be an argument
highlight_language = "text"
smartquotes = False  # what is quoted can be copied: {"lbfgs", "jacobi"}, f''(x)

# Pages are Markdown. Links to headings are those that forges make, too.
myst_enable_extensions = ["dollarmath", "html_image"]
myst_heading_anchors = 4

# The reference: signatures with defaults; the types are in the lists of parameters.
default_role = "py:obj"
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the templates list them
# The types of parameters: classes of the reference are links, all other words are text.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {word: word for word in DEFAULT_LINKS} | {
    name: f"{module}.{name}"
    for page in sorted((HERE / "reference").glob("*.md"))
    for module, table in re.findall(r"currentmodule:: (\S+)\n(.*?)```", page.read_text(), re.S)
    for name in re.findall(r"^   ([A-Z]\w*[a-z]\w*)$", table, re.M)
}

html_theme = "pydata_sphinx_theme"
html_title = f"phinmf {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "install": []}
