"""Settings of the site (`make docs`)."""

import os
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import safdr

HERE = Path(__file__).parent

project, author = "safdr", "The safdr developers"
copyright = "2026, The safdr developers"
version = release = safdr.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates"]
templates_path = ["_templates"]
html_static_path = ["_static"]
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
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
# Inherited docstrings of scikit-learn refer to its own pages.
suppress_warnings = ["config.cache", "ref.ref"]
sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples" / "gallery")],
    "gallery_dirs": [str(HERE / "gallery")],
    "capture_repr": (),
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
    "remove_config_comments": True,
    "copyfile_regex": r"$^",
}
