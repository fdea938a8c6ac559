"""Sphinx's settings for the site that tools/docs makes."""

project = "Millrace"
extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
# Rooms' pages and the like begin where they like.
suppress_warnings = ["myst.header"]
highlight_language = "none"

html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "sidebar_width": "260px", "fixed_sidebar": False}
html_sidebars = {"**": ["about.html", "searchbox.html", "localtoc.html", "navigation.html"]}
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
# A page that is opened as a file may not read others, so results have no summaries.
html_show_search_summary = False
