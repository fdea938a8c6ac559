"""The names of TensorFlow's that a program uses, in its own file and the modules beside it."""

import ast
from pathlib import Path

from millrace._check.aliases import Scopes, imported

_CAUGHT = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}


class Use:
    """A place where a program uses something of TensorFlow's.

    Attributes:
      file, line: where.
      path: what, below TensorFlow: "train.Saver".
      call: the ast.Call if it is called there, else None.
      is_guarded: True if the program goes on without it: it stands in a try that catches its absence.
    """

    def __init__(self, file, line, path, call, is_guarded):
        self.file, self.line, self.path = file, line, path
        self.call, self.is_guarded = call, is_guarded


def uses(program):
    """All that a program uses, in the order of its files and lines.

    Args:
      program: the path of its file.

    Raises:
      OSError: if it can't be read. SyntaxError: if it, or a module beside it, is no Python 3.
    """
    modules = _Modules(Path(program))
    found = []
    for module in modules.in_turn():
        reader = _Reader(module, modules)
        reader.read()
        found += reader.found
    return found


class _Module:
    """A file of the program: its syntax, and what its names at the top stand for."""

    def __init__(self, file):
        self.file = file
        self.syntax = ast.parse(file.read_bytes(), str(file))
        self.names = {}


class _Modules:
    """The files of a program: the one that is run, and those it imports that lie beside it."""

    def __init__(self, program):
        self._folder = program.parent
        self._known = {}
        self._pending = []
        self.get(program)

    def in_turn(self):
        """All modules, each after one that imports it."""
        while self._pending:
            yield self._pending.pop(0)

    def get(self, file):
        if file not in self._known:
            module = self._known[file] = _Module(file)
            self._pending.append(module)
            _bind_top(module, module.syntax.body, self)
        return self._known[file]

    def beside(self, importer, node):
        """(module, names that are bound) for each module of the program that a statement imports."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                for file in self._files(importer, alias.name, 0):
                    yield self.get(file), []
            return
        files = self._files(importer, node.module or "", node.level)
        for file in files[-1:]:
            yield self.get(file), node.names
        for alias in node.names:
            below = ".".join(filter(None, [node.module, alias.name]))
            for file in self._files(importer, below, node.level)[len(files) :]:
                yield self.get(file), []

    def _files(self, importer, name, level):
        """The files that importing a module runs: its packages and its own."""
        folder = self._folder
        if level:
            folder = importer.file.parent
            for _ in range(level - 1):
                folder = folder.parent
        found = []
        for part in filter(None, name.split(".")):
            if (folder / part / "__init__.py").exists():
                found.append(folder / part / "__init__.py")
            elif (folder / f"{part}.py").exists():
                found.append(folder / f"{part}.py")
            elif not (folder / part).is_dir():
                break
            folder = folder / part
        return found


def _bind_top(module, statements, modules):
    """Notes what the names stand for that statements at the top of a module bind."""
    scopes = Scopes(module.names)
    for node in statements:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name, path, _ in imported(node):
                if name is not None:
                    module.names[name] = path
            for other, names in modules.beside(module, node):
                _adopt(module, other, names)
        elif isinstance(node, ast.Assign):
            path = scopes.path_of(node.value)
            for target in node.targets:
                if isinstance(target, ast.Name) and path is not None:
                    module.names[target.id] = path
        else:
            for inner in ("body", "orelse", "finalbody"):
                if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    _bind_top(module, getattr(node, inner, []), modules)
            for handler in getattr(node, "handlers", []):
                _bind_top(module, handler.body, modules)


def _adopt(module, other, names):
    """Takes over what a module beside has under names that are imported from it."""
    for alias in names:
        if alias.name == "*":
            for name, path in other.names.items():
                module.names.setdefault(name, path)
        elif alias.name in other.names:
            module.names[alias.asname or alias.name] = other.names[alias.name]


class _Reader(ast.NodeVisitor):
    """Walks one module and notes what it uses."""

    def __init__(self, module, modules):
        self._module = module
        self._modules = modules
        self._scopes = Scopes(module.names)
        self._guards = 0
        self.found = []

    def read(self):
        self.visit(self._module.syntax)
        self.found.sort(key=lambda use: use.line)

    def _note(self, node, path, call=None):
        if path:
            self.found.append(Use(self._module.file, node.lineno, path, call, self._guards > 0))

    # ---- What binds names ------------------------------------------------------------------------

    def _visit_import(self, node):
        for name, path, asked in imported(node):
            self._note(node, asked)
            if name is not None:
                self._scopes.bind(name, path)
        for _ in self._modules.beside(self._module, node):
            pass  # read in their turn

    visit_Import = visit_ImportFrom = _visit_import

    def visit_Assign(self, node):
        self.visit(node.value)
        path = self._scopes.path_of(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._scopes.bind(target.id, path)
            else:
                self.visit(target)

    def _visit_function(self, node):
        arguments = node.args
        for outside in (*getattr(node, "decorator_list", []), *arguments.defaults):
            self.visit(outside)
        for default in filter(None, arguments.kw_defaults):
            self.visit(default)
        names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        names += filter(None, [arguments.vararg, arguments.kwarg])
        self._scopes.enter(name.arg for name in names)
        for statement in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(statement)
        self._scopes.leave()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function

    # ---- What asks for them ----------------------------------------------------------------------

    def visit_Call(self, node):
        path = self._scopes.path_of(node.func)
        if path is None:
            self.visit(node.func)
            self._note_getattr(node)
        else:
            self._note(node.func, path, node)
        for argument in (*node.args, *node.keywords):
            self.visit(argument)

    def _note_getattr(self, node):
        """getattr(tf, "name") asks for a name as tf.name does."""
        if not isinstance(node.func, ast.Name) or node.func.id != "getattr" or len(node.args) != 2:
            return
        path, name = self._scopes.path_of(node.args[0]), node.args[1]
        if path is not None and isinstance(name, ast.Constant) and isinstance(name.value, str):
            self._note(node, f"{path}.{name.value}" if path else name.value)

    def visit_Attribute(self, node):
        path = self._scopes.path_of(node)
        if path is None:
            self.visit(node.value)
        else:
            self._note(node, path)

    # ---- What goes on without them ---------------------------------------------------------------

    def visit_Try(self, node):
        guarded = any(_catches_absence(handler.type) for handler in node.handlers)
        self._guards += guarded
        for statement in node.body:
            self.visit(statement)
        self._guards -= guarded
        for statement in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(statement)


def _catches_absence(caught):
    if caught is None:
        return True
    return any(isinstance(part, ast.Name) and part.id in _CAUGHT for part in ast.walk(caught))
