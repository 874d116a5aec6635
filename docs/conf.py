"""How sphinx makes the site of these pages: `make docs`."""

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from notebooks import write_notebooks
from pygments.lexers.special import TextLexer

import thriftwood

# `tw.export` is a module of the room `formats`; the reference names it as users do.
sys.modules["thriftwood.export"] = thriftwood.export

project = "Thriftwood"
author = "The Thriftwood developers"
project_copyright = author
release = thriftwood.__version__
version = ".".join(release.split(".")[:2])  # a folder of the site

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build", "_notebooks"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = "Thriftwood"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["versions.js"]
html_show_sphinx = False
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_theme_options = {
    "source_repository": "https://github.com/thriftwood/thriftwood/",
    "source_branch": "main",
    "source_directory": "docs/",
}
html_copy_source = False

myst_heading_anchors = 3  # so that pages can link to headings of others, as on a hosting site

default_role = "code"  # `so` in docstrings
autosummary_generate = True
autosummary_generate_overwrite = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say it in words
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # several names may share a line
napoleon_use_param = False
napoleon_use_rtype = False

# Docstrings name types in words ("array of shape (n,)"), which lead nowhere.
nitpick_ignore_regex = [("py:(class|obj)", ".*")]

# Pages link to files as a hosting site shows them; these files are pages of the site, too.
PAGES_OF_FILES = {
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
    "../README.md": "index.md",
}


def setup(app):
    app.connect("builder-inited", lambda app: write_notebooks(Path(app.srcdir) / "_notebooks"))
    app.connect("source-read", link_to_pages)
    app.connect("source-read", offer_notebooks)
    app.connect("autodoc-skip-member", leave_out_what_others_wrote)
    app.connect("autodoc-process-signature", leave_out_what_nobody_makes)
    app.add_lexer("csv", TextLexer)  # shown as it is


def link_to_pages(_app, _name, content):
    """Make links to files that are pages of the site, too, links to those pages."""
    for file, page in PAGES_OF_FILES.items():
        content[0] = content[0].replace(f"]({file}", f"]({page}")


def offer_notebooks(_app, name, content):
    """Offer each script of the gallery as a notebook, too."""
    if name == "gallery":
        content[0] = re.sub(
            r"\[examples/(\w+)\.py\]\(\S+\)",
            r"\g<0> · {download}`as a notebook <_notebooks/\1.ipynb>`",
            content[0],
        )


def leave_out_what_others_wrote(_app, _what, _name, member, _skip, _options):
    """Leave out what is inherited from scikit-learn or from tuples: others describe it."""
    module = getattr(member, "__module__", None) or ""
    is_of_tuples = getattr(member, "__objclass__", None) is tuple
    return True if module.startswith("sklearn.") or is_of_tuples else None


def leave_out_what_nobody_makes(_app, what, _name, value, _options, signature, returned):
    """Leave out how types are made that only come back: users read them."""
    is_made = hasattr(value, "get_params") or "Parameters\n" in (value.__doc__ or "")
    return (signature, returned) if what != "class" or is_made else ("", returned)
