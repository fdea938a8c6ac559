"""What tools/docs does, in parts: written.py takes the pages that people wrote, command_page.py, python_pages.py and
cpp_pages.py write those of the reference, links.py looks whether all links of the site lead somewhere."""
