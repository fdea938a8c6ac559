"""The Python front-end's modules import only from lower layers, at the top of the file, in no circle,
and a name with an underscore is used by the file that defines it."""

import ast
from pathlib import Path

from guards.tree import Fault

FRONTEND = Path("millrace/python/frontend")
PACKAGE = "millrace"

# Lowest first. Modules of one package may import each other if that makes no circle; packages of one
# line do not import each other. What is in none of these packages is public and stands above them all.
LAYERS = [
    ["_names"],
    ["_millrace"],
    ["_values"],
    ["_files"],
    ["_graph"],
    ["_gen"],
    ["_ops"],
    ["_flow"],
    ["_ragged"],
    ["_cluster", "_state"],
    ["_train"],
    ["_distributions", "_layers", "_measures", "_run"],
    ["_recurrent", "_saving", "_summaries"],
    ["_columns", "_data", "_input", "_nets", "_profiling", "_samples", "_saved_models", "_testing"],
    ["_keras", "_mapreduce", "_supervised"],
    ["_estimators"],
    ["_canned"],
    ["_check", "_inspect", "_tasks"],
]
# Private names that all objects may have: by these they take part where a Tensor is asked for. And
# what namedtuples have.
SHARED = ["_as_tensor", "_as_graph_element", "_make", "_replace"]
HEIGHT = {package: height for height, packages in enumerate(LAYERS) for package in packages}


def _height(module):
    return HEIGHT.get(module.partition(".")[0], len(LAYERS))


def _package(module):
    top = module.partition(".")[0]
    return top if top in HEIGHT else "the public modules"


def _module_name(file):
    """The name below the package: the file of _graph.ops, of the package itself ""."""
    parts = list(file.relative_to(FRONTEND).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(node, module, is_package, known):
    """The modules of ours that an import statement loads."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        base = node.module or ""
        if node.level:
            parts = [PACKAGE, *filter(None, module.split("."))]
            parts = parts[: len(parts) - node.level + (1 if is_package else 0)]
            base = ".".join([*parts, *filter(None, [base])])
        names = []
        for alias in node.names:
            whole = f"{base}.{alias.name}"
            is_module = whole.removeprefix(f"{PACKAGE}.") in known
            names.append(whole if is_module else base)
    for name in names:
        if name == PACKAGE:
            yield ""
        elif name.startswith(f"{PACKAGE}."):
            yield name.removeprefix(f"{PACKAGE}.")


def _statements(node, inside=False):
    """(statement, whether it is inside a function) for all imports and calls of import_module."""
    for child in ast.iter_child_nodes(node):
        late = inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, late
        yield from _statements(child, late)


def _is_private(name):
    return name.startswith("_") and not name.endswith("__")


def _own_private_names(syntax):
    """The private names that a file defines: functions, classes, attributes of self, slots."""
    for node in ast.walk(syntax):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # in __slots__


def _foreign_names(syntax):
    """(line, name) of private attributes of objects whose class is in another file."""
    own = {*SHARED, *_own_private_names(syntax)}
    imported = {
        alias.asname or alias.name
        for node in ast.walk(syntax)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    for node in ast.walk(syntax):
        if not isinstance(node, ast.Attribute) or not _is_private(node.attr) or node.attr in own:
            continue
        of = node.value.id if isinstance(node.value, ast.Name) else None
        if of not in ("self", "cls") and of not in imported:
            yield node.lineno, node.attr


def _circles(graph):
    """The strongly connected groups of more than one module."""
    order, seen = [], set()

    def visit(node, edges, out):
        stack = [(node, iter(edges.get(node, ())))]
        seen.add(node)
        while stack:
            current, left = stack[-1]
            following = next((n for n in left if n not in seen), None)
            if following is None:
                out.append(current)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(edges.get(following, ()))))

    for node in sorted(graph):
        if node not in seen:
            visit(node, graph, order)
    reverse = {}
    for node, targets in graph.items():
        for target in targets:
            reverse.setdefault(target, set()).add(node)
    seen.clear()
    for node in reversed(order):
        if node not in seen:
            group = []
            visit(node, reverse, group)
            if len(group) > 1:
                yield sorted(group)


def check(tree):
    files = {_module_name(file): file for file in tree.below(FRONTEND, ".py")}
    known = {*files, "_millrace", "_gen.index"}
    graph = {}
    for module, file in files.items():
        syntax = ast.parse(tree.text(file), str(file))
        graph[module] = set()
        for node, late in _statements(syntax):
            ours = set(_imports(node, module, file.name == "__init__.py", known)) - {module}
            graph[module] |= ours
            if late:
                names = ", ".join(alias.name for alias in node.names)
                yield Fault(
                    file,
                    node.lineno,
                    f"imports {names} inside a function: import at the top, from a lower layer",
                )
            for other in sorted(ours):
                yield from _arrow(file, node.lineno, module, other)
        for line, name in _foreign_names(syntax) if module.startswith("_") else ():
            yield Fault(
                file, line, f"uses {name}, which is private to another file: give it a name"
            )
    for circle in _circles(graph):
        first = files[circle[0]]
        yield Fault(
            first,
            1,
            f"these modules import each other in a circle: {', '.join(m or PACKAGE for m in circle)}",
        )


def _arrow(file, line, module, other):
    """The fault of one import, if it points up or across."""
    mine, its = _package(module), _package(other)
    if other == "" and module != "":
        yield Fault(
            file, line, f"imports the package {PACKAGE} itself, which stands above all its modules"
        )
    elif mine != its and _height(other) > _height(module):
        yield Fault(
            file, line, f"{mine} imports {other}, which is above it in tools/guards/frontend.py"
        )
    elif mine != its and _height(other) == _height(module):
        yield Fault(
            file, line, f"{mine} imports {other}, which is beside it in tools/guards/frontend.py"
        )
