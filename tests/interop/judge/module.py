"""A test module: from a file to the names of its tests."""

import ast
import contextlib
import importlib.util
import os
import pathlib
import sys
import traceback
import unittest
from unittest import mock


class CannotLoad(Exception):
    """Says in one line why a module can't be loaded."""


def checkout_of(path):
    """The folder that holds `tensorflow/`, if the file lies in a checkout; else None."""
    parts = pathlib.Path(path).resolve().parts
    for i in range(len(parts) - 2, 0, -1):
        if parts[i] == "tensorflow":
            return str(pathlib.Path(*parts[:i]))
    return None


def _name(path):
    checkout = checkout_of(path)
    if checkout:
        return ".".join(path.relative_to(checkout).with_suffix("").parts)
    return path.stem if path.stem not in sys.modules else f"{path.stem}_under_test"


def _reason(path, error):
    kind = type(error).__name__
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    line = frames[-1].lineno if frames else getattr(error, "lineno", None)
    text = str(error).strip().split("\n")[0] or "no message"
    where = f" (line {line})" if line else ""
    hint = ""
    if isinstance(error, ImportError) and (error.name or "").startswith("tensorflow"):
        hint = "; TensorFlow's wheel has no such module: is it one that only tests use?"
        if not checkout_of(path):
            hint += " A file that lies in a checkout of TensorFlow finds the checkout's modules."
    return f"{kind}: {text}{where}{hint}"


def load(path, flags=()):
    """Executes the file, and what it does when run as a program, except running its tests."""
    path = pathlib.Path(path).resolve()
    name = _name(path)
    if not checkout_of(path):
        sys.path.append(str(path.parent))
    try:
        source = path.read_text()
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        from absl import flags as absl_flags

        sys.argv = [str(path), *flags]
        absl_flags.FLAGS(sys.argv, known_only=not flags)
        _execute_as_program(source, path, module)
    except (Exception, SystemExit) as error:
        raise CannotLoad(_reason(path, error)) from error
    return module


def _execute_as_program(source, path, module):
    body = []
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test):
            body += statement.body
    code = compile(ast.Module(body, type_ignores=[]), str(path), "exec")
    as_main = mock.patch.dict(sys.modules, {"__main__": module})
    with as_main, _no_runner(), contextlib.suppress(SystemExit):
        exec(code, module.__dict__)


@contextlib.contextmanager
def _no_runner():
    """In it, the ways in which a test module runs its tests do nothing."""
    from absl import app
    from absl.testing import absltest
    from tensorflow.python.platform import app as tf_app
    from tensorflow.python.platform import googletest

    def run(main=None, argv=None, **_):
        if main:
            main(argv or sys.argv)

    with contextlib.ExitStack() as stack:
        runners = [(unittest, "main"), (absltest, "main"), (googletest, "main")]
        for home, name in [*runners, (googletest, "absltest_main")]:
            stack.enter_context(mock.patch.object(home, name, lambda *_, **__: None))
        for home, name in [(app, "run"), (tf_app, "_run")]:
            stack.enter_context(mock.patch.object(home, name, run))
        yield


def test_names(module):
    """ "Class.method" of each test. Makes no test object: some start servers when they are made."""
    from tensorflow.python.framework import test_util

    names = []
    for case in _test_cases(module):
        for method in unittest.defaultTestLoader.getTestCaseNames(case):
            inherited = getattr(test_util.TensorFlowTestCase, method, None)
            if getattr(case, method) is not inherited:  # test_session() is no test
                names.append(f"{case.__name__}.{method}")
    return names


def _test_cases(module):
    values = vars(module).values()
    # A dict, not a set: in the module's order, and once under however many names.
    found = dict.fromkeys(v for v in values if isinstance(v, type))
    return [each for each in found if issubclass(each, unittest.TestCase)]


def make_test(module, name):
    case, method = name.split(".", 1)
    found = [each for each in _test_cases(module) if each.__name__ == case]
    return found[-1](method)


def survey(path, flags):
    """Loads the module to see what it has: {"tests": names, "can_fork": bool}.

    A module that starts threads or runs eager ops while it is imported leaves a process that can't
    be forked any more: each attempt has to import it anew.
    """
    from tensorflow.python.eager import context

    threads = len(os.listdir("/proc/self/task"))
    names = test_names(load(path, flags))
    quiet = context.context()._context_handle is None
    return {"tests": names, "can_fork": quiet and len(os.listdir("/proc/self/task")) == threads}
