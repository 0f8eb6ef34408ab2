"""How the site is made: `make docs`, then open build/docs/index.html.

Nothing is fetched, neither while it is built nor by a browser that reads it.
"""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from typing import Any

project = "virtualvector"
project_copyright = "the virtualvector developers, MIT licence"
version = release = version_of("virtualvector")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["templates"]
exclude_patterns = ["templates", "gallery/*.ipynb", "gallery/*.py"]
highlight_language = "none"  # blocks that do not say what they are hold commands

# Links are paths of files, so that guides can be read in the repository as well.
myst_heading_anchors = 3

# What is in single backticks is a name of Python's where there is one, else just code.
default_role = "py:obj"
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say it in words
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": (),
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
}

html_theme = "pydata_sphinx_theme"
html_title = "virtualvector"
html_copy_source = html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}


def know_anchors(app: Any, page: str, source: list[str]) -> None:
    """Make targets of the anchors that pages have in HTML, so that links to them are checked."""
    source[0] = re.sub(r'<a id="([\w-]+)"></a>', r"(\1)=", source[0])


def skip_strangers(
    app: Any, kind: str, name: str, member: Any, skipped: bool, options: Any
) -> bool | None:
    """Leave out what other packages give a class, and what its docstring has said already."""
    home = getattr(member, "__module__", None) or "virtualvector"
    if not str(home).startswith("virtualvector"):
        return True
    is_fitted = isinstance(member, property) and name.endswith("_")
    is_field = type(member).__name__ == "_tuplegetter"
    return True if is_fitted or is_field else None


def setup(app: Any) -> None:
    """Tell Sphinx of the two."""
    app.connect("source-read", know_anchors)
    app.connect("autodoc-skip-member", skip_strangers)
