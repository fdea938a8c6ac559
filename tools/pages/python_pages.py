"""The reference of Python: every public name of the package with its signature and its docstring. Run by the
build's interpreter, beside the package:

    python3 tools/pages/python_pages.py FOLDER

writes a page that lists the modules into FOLDER, and a page per module into FOLDER/python. A thing that has
several names is told of under the shortest; the others lead there.
"""

import inspect
import re
import sys
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pages.docstring import escaped, markdown  # noqa: E402

# Copies of the whole package under other names, and wrappers that the page of ops tells of.
_LEFT_OUT = {"compat", "raw_ops", "core", "python"}


def modules_of(package):
    """{name: module}: "tf" and those below it, such as "tf.nn" and "tf.contrib.learn"."""
    found, waiting = {}, [("tf", package)]
    while waiting:
        name, module = waiting.pop(0)
        if module in found.values():
            continue
        found[name] = module
        for part in sorted(set(dir(module)) - _LEFT_OUT):
            value = None if part.startswith("_") else getattr(module, part, None)
            if isinstance(value, types.ModuleType) and value.__name__.startswith(package.__name__):
                waiting.append((f"{name}.{part}", value))
    return found


def names_in(modules):
    """[(full name, module's name, value)] of everything public that can be called."""
    for module_name, module in modules.items():
        for part in sorted(dir(module)):
            if part.startswith("_"):
                continue
            value = getattr(module, part, None)
            if callable(value) and not isinstance(value, types.ModuleType):
                if (getattr(value, "__module__", None) or "").startswith("millrace"):
                    yield f"{module_name}.{part}", module_name, value


def signature(value):
    """As a call is written; defaults that have no such form, "<object at 0x...>", are dots."""
    try:
        return re.sub(r"<[^<>]*>", "...", str(inspect.signature(value)))
    except (ValueError, TypeError):
        return "(...)"


def label(name):
    """By which other pages find a name; labels do not tell capitals from small letters."""
    return re.sub(r"([A-Z])", r"-\1", name).lower()


def entry(name, value):
    """What a page says of a name."""
    lines = [
        f"({label(name)})=",
        f"## {name}",
        "",
        "```python",
        f"{name}{signature(value)}",
        "```",
        "",
    ]
    lines += [markdown(inspect.getdoc(value) or "Not told of yet."), ""]
    if inspect.isclass(value):
        for part, method in _methods(value):
            lines += [
                f"**{escaped(part)}**",
                "",
                "```python",
                f"{part}{signature(method)}",
                "```",
                "",
            ]
            lines += [markdown(inspect.getdoc(method)), ""]
    return lines


def _methods(value):
    """Public methods that the class itself, or one of its bases of ours, tells of."""
    for part in sorted(dir(value)):
        method = inspect.getattr_static(value, part)
        method = getattr(method, "__func__", method)
        if part.startswith("_") or not inspect.isfunction(method) or not method.__doc__:
            continue
        if method.__module__.startswith("millrace"):
            yield part, method


def pages(modules):
    """{file's name: Markdown}: a page per module; that of tf itself by first letters."""
    told = {}  # id of a value: its shortest name
    entries = list(names_in(modules))
    for name, _, value in sorted(entries, key=lambda entry: (len(entry[0]), entry[0])):
        told.setdefault(id(value), name)
    made = {}
    for name, module_name, value in entries:
        page = module_name
        if module_name == "tf":
            page = f"tf: {name[3].lower()}"
        if page not in made:
            doc = modules[module_name].__doc__ if module_name != "tf" else None
            made[page] = [f"# {page}", "", *([markdown(doc), ""] if doc else [])]
        if told[id(value)] == name:
            made[page] += entry(name, value)
        else:
            other = told[id(value)]
            made[page] += [f"## {name}", "", f"Is {{ref}}`{other} <{label(other)}>`.", ""]
    return {f"{page.replace(': ', '-')}.md": "\n".join(lines) for page, lines in made.items()}


def main():
    import millrace

    folder = Path(sys.argv[1])
    (folder / "python").mkdir(parents=True, exist_ok=True)
    made = pages(modules_of(millrace))
    for name, text in made.items():
        (folder / "python" / name).write_text(text + "\n", encoding="utf-8")
    listed = "\n".join(f"python/{name}" for name in sorted(made))
    (folder / "python.md").write_text(
        "# Python\n\n`import millrace as tf` gives all of these.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    )


if __name__ == "__main__":
    main()
