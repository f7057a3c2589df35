"""How the site is built: `pip install ".[docs]" && sphinx-build -W docs site`."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent)]
os.environ.setdefault("OMP_NUM_THREADS", "1")

import protolearn  # noqa: E402

project = "protolearn"
author = "the protolearn developers"
copyright = "the protolearn developers, BSD-3-Clause"  # the name that Sphinx asks for
version = release = protolearn.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "reference",
    "flowchart",
]
exclude_patterns = ["_templates", "results", "auto_examples/**/*.ipynb", "auto_examples/**/*.json"]
nitpicky = True
default_role = "code"
highlight_language = "none"

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
templates_path = ["_templates"]
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "within_subsection_order": "docstrings.gallery_order",
    "download_all_examples": False,
    "capture_repr": ("_repr_html_",),
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 10,
    "show_memory": False,
    "write_computation_times": False,
    "plot_gallery": "True",
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "doc_module": ("protolearn",),
    "backreferences_dir": "reference/used_in",
    "reference_url": {"protolearn": None},
    "inspect_global_variables": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "protolearn"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_copy_source = False
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "protolearn"},
    "github_url": "https://github.com/protolearn/protolearn",
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
html_sidebars = {"index": [], "start": []}

linkcheck_timeout = 20
linkcheck_ignore = [r"https://github\.com/protolearn/.*", r"https://protolearn\.github\.io/.*"]
