"""tools/docs, but for Sphinx: how its pages are written, and how links are looked after."""

import inspect
import subprocess
import types
from pathlib import Path

import pytest

from pages import command_page, cpp_pages, docstring, links, python_pages, written

ROOT = Path(__file__).resolve().parents[2]


def test_docstrings_keep_their_prose_lists_and_code():
    text = """The *sum* of `a_b` and x_y.

    Args:
      a: a Tensor of shape [n],
        or a list.
      **kwargs: more.

    Returns:
      a Tensor; never None.

        tf.add(a,
               b)
    """
    text = inspect.cleandoc(text)
    assert docstring.markdown(text).splitlines() == [
        r"The \*sum\* of `a_b` and x\_y.",
        "",
        "**Args**",
        "",
        r"- `a`: a Tensor of shape \[n\], or a list.",
        "- `**kwargs`: more.",
        "",
        "**Returns**",
        "",
        "a Tensor; never None.",
        "",
        "```text",
        "tf.add(a,",
        "       b)",
        "```",
    ]


@pytest.mark.parametrize(
    "line, written",
    [
        ("- 1 more", r"\- 1 more"),
        ("12. first", r"12\. first"),
        ("# of them", r"\# of them"),
        ("1) a-b", r"1\) a-b"),
        ("<b> `<b>`", r"\<b\> `<b>`"),
    ],
)
def test_prose_that_looks_like_markdown_stays_prose(line, written):
    assert docstring.escaped(line) == written


def test_the_verbs_are_those_that_the_command_lists():
    said = "Usage: x\n\nSubcommands:\n  run         Run it\n  check       Look at it\n\nmore: x\n"
    assert command_page.verbs_in(said) == ["run", "check"]


def test_the_headers_are_those_that_the_first_one_brings():
    text = '#pragma once\n#include <map>\n#include "millrace/api/scope.h"  // IWYU pragma: export\n'
    assert cpp_pages.headers_of(text) == ["millrace/api/scope.h"]


@pytest.fixture
def package():
    """A package tf with a module tf.nn that has a name of tf's, and one of its own."""

    def relu(x, *, way=object()):
        """x, or 0."""

    class Relu:
        """A kept relu."""

        def call(self, x):
            """Calls it."""

        def untold(self):
            pass

    top, nn = types.ModuleType("millrace"), types.ModuleType("millrace.nn", "tf.nn: layers.")
    for value in (relu, Relu, Relu.call):
        value.__module__ = "millrace._ops"
    top.relu, top.nn, top.path, nn.relu, nn.Relu = relu, nn, Path, relu, Relu
    return top


def test_every_public_name_is_told_of_once_and_its_other_names_lead_there(package):
    modules = python_pages.modules_of(package)
    assert list(modules) == ["tf", "tf.nn"]
    made = python_pages.pages(modules)
    assert set(made) == {"tf-r.md", "tf.nn.md"}
    assert "## tf.relu\n\n```python\ntf.relu(x, *, way=...)\n```\n\nx, or 0.\n" in made["tf-r.md"]
    assert "## tf.nn.relu\n\nIs {ref}`tf.relu <tf.relu>`." in made["tf.nn.md"]
    assert made["tf.nn.md"].startswith("# tf.nn\n\ntf.nn: layers.\n")
    assert (
        "(tf.nn.-relu)=" in made["tf.nn.md"]
    )  # not that of tf.nn.relu, which some would take for it
    assert "call(self, x)" in made["tf.nn.md"] and "untold" not in made["tf.nn.md"]


def test_pages_come_with_what_they_link_and_folders_lead_to_their_readme(tmp_path):
    root, place = tmp_path / "root", tmp_path / "place"
    for name, text in {
        "README.md": "[a](docs/a.md#b) [e](examples) [t](tools) [w](https://w.org)\n",
        "docs/a.md": "[program](../examples/x.py)\n",
        "examples/README.md": "# Examples\n",
        "examples/x.py": "pass\n",
        "tools/x": "",
        "build/made.md": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert [str(page) for page in written.stage(root, place)] == [
        "README.md",
        "docs/a.md",
        "examples/README.md",
    ]
    expected = "[a](docs/a.md#b) [e](examples/README.md) t [w](https://w.org)\n"
    assert (place / "README.md").read_text() == expected
    assert (place / "examples" / "x.py").exists()


def test_every_page_of_the_repository_is_in_the_contents_once():
    pages = written.pages_of(ROOT)
    listed = [line for line in written.contents(pages, "0.1.0").splitlines() if ".md" in line]
    assert sorted(listed) == sorted(str(page) for page in pages)
    assert listed[0] == "README.md"


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.html").write_text(
        '<h1 id="top">A</h1><a href="#top">up</a><a href="../b.html#here">b</a>'
        '<a href="../b.html#gone">b</a><a href="c.html">c</a><a href="https://w.org/x">out</a>'
    )
    (tmp_path / "b.html").write_text(
        '<p id="here"></p><script src="https://cdn.org/x.js"></script><img src="in/none.png">'
    )
    assert list(links.faults(tmp_path)) == [
        "b.html loads https://cdn.org/x.js, which is not part of the site",
        "b.html links in/none.png, which is not there",
        "in/a.html links ../b.html#gone, which has no such place",
        "in/a.html links c.html, which is not there",
    ]


def test_docs_tells_how_it_is_called():
    def docs(*words):
        done = subprocess.run([ROOT / "tools" / "docs", *words], capture_output=True, text=True)
        return done.returncode, done.stdout

    code, said = docs("--help")
    assert code == 0 and "Exit codes: 0" in said
    assert docs("--serve")[0] == 2
