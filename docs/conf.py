"""The site (`make docs`): its source is the whole clone, so that links work as at a code host."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import safdr  # noqa: E402  (once BLAS knows how many threads)

project, author = "safdr", "The safdr developers"
copyright = "2026, The safdr developers"
version = release = safdr.__version__
root_doc = "docs/site/index"
include_patterns = [
    "docs/**.md",
    "docs/site/**",
    "paper/*.md",
    "paper/*/*.md",
    "paper/*/*/*.md",
    "benchmarks/README.md",
    "benchmarks/results/*.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
]
exclude_patterns = ["build", ".venv", "paper/rows", "paper/**/rows", "docs/site/_templates"]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "site_parts",
]
templates_path = ["site/_templates"]
html_static_path = ["site/_static"]
html_css_files = ["site.css"]
html_theme = "pydata_sphinx_theme"
html_title = f"safdr {release}"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"docs/site/index": [], "CHANGELOG": []}
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath", "tasklist", "colon_fence"]
myst_heading_anchors = 4
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
suppress_warnings = ["config.cache", "toc.multiple_toc_parents"]
sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "gallery")],
    "gallery_dirs": [str(HERE / "site" / "gallery")],
    "capture_repr": (),
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
    "remove_config_comments": True,
    "copyfile_regex": r"$^",
}
