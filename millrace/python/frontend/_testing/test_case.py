"""TestCase: a unittest.TestCase with sessions, and comparisons of arrays."""

import contextlib
import os
import random
import re
import shutil
import sys
import tempfile
import unittest

import numpy as np

from millrace._graph.graph import get_default_graph, reset_default_graph
from millrace._graph.operation import Tensor
from millrace._ops.random_values import set_random_seed
from millrace._run.session import Session
from millrace._testing.benchmark import run_benchmarks
from millrace._values import errors

_SEED = 87654321


class _Temporary:
    """The folder of the tests of this process, made when first asked for."""

    path = None


def get_temp_dir():
    """A folder for what tests write; it goes away with the process."""
    if _Temporary.path is None:
        held = tempfile.TemporaryDirectory(prefix="millrace_test_")
        _Temporary.path, _Temporary.held = held.name, held
    return _Temporary.path


class TestCase(unittest.TestCase):
    """A test with a default graph of its own, and the same random numbers each time.

    Arguments of the assert methods are arrays, what becomes one, or Tensors, which are evaluated in the
    test's session.
    """

    def __init__(self, methodName="runTest"):
        super().__init__(methodName)
        self._cached = None
        self._folder = None

    def setUp(self):
        random.seed(_SEED)
        np.random.seed(_SEED)
        reset_default_graph()
        set_random_seed(_SEED)

    def tearDown(self):
        if self._cached is not None:
            self._cached.close()
            self._cached = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def get_temp_dir(self):
        """A folder of this test; it goes away with it."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(dir=get_temp_dir())
        return self._folder

    # ---- Sessions --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        """A new session on a graph, the default one in the block; `use_gpu` and `force_gpu` are ignored."""
        graph = graph or get_default_graph()
        with graph.as_default() if graph is not get_default_graph() else contextlib.nullcontext():
            with Session(graph=graph, config=config) as session:
                yield session

    @contextlib.contextmanager
    def cached_session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        """The session of this test, the same each time; on the default graph."""
        if self._cached is None:
            self._cached = Session(graph=graph or get_default_graph(), config=config)
        elif graph is not None and graph is not self._cached.graph:
            raise ValueError("The graph used to get the cached session is different than this one.")
        with self._cached.as_default():
            yield self._cached

    def test_session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        """cached_session, or session if a graph or a config is given."""
        if self._testMethodName == "test_session":  # unittest takes it for a test
            self.skipTest("Not a test.")
        if graph is None and config is None:
            return self.cached_session()
        return self.session(graph, config)

    def evaluate(self, tensors):
        """The values of Tensors, in the session that is the default or in that of the test."""
        with self.cached_session() as session:
            return session.run(tensors)

    def _array(self, value):
        if isinstance(value, Tensor):
            value = self.evaluate(value)
        return np.asarray(value)

    # ---- Comparisons -----------------------------------------------------------------------------

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        """Each |a - b| is at most atol + rtol * |b|; also in lists, tuples and dictionaries."""
        if isinstance(a, dict) or isinstance(b, dict):
            self.assertIsInstance(a, dict, msg)
            self.assertIsInstance(b, dict, msg)
            self.assertCountEqual(a.keys(), b.keys(), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg=f"at {key!r}: {msg or ''}")
            return
        if isinstance(a, (list, tuple)) and not _is_even(a):
            self.assertEqual(len(a), len(b), msg)
            for one, other in zip(a, b):
                self.assertAllClose(one, other, rtol, atol, msg)
            return
        a, b = self._array(a), self._array(b)
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}.")
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=msg or "")

    def assertNotAllClose(self, a, b, **arguments):
        """Not assertAllClose."""
        try:
            self.assertAllClose(a, b, **arguments)
        except AssertionError:
            return
        raise AssertionError("The two values are close at all elements")

    def assertAllCloseAccordingToType(
        self,
        a,
        b,
        rtol=1e-6,
        atol=1e-6,
        float_rtol=1e-6,
        float_atol=1e-6,
        half_rtol=1e-3,
        half_atol=1e-3,
        bfloat16_rtol=1e-2,
        bfloat16_atol=1e-2,
        msg=None,
    ):
        """assertAllClose, with more latitude for narrow types."""
        a, b = self._array(a), self._array(b)
        kinds = {a.dtype.name, b.dtype.name}
        if kinds & {"float32", "complex64"}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if "float16" in kinds:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        if "bfloat16" in kinds:
            rtol, atol = max(rtol, bfloat16_rtol), max(atol, bfloat16_atol)
        self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)

    def assertAllEqual(self, a, b, msg=None):
        """Equal in shape and in all elements; numbers that are none equal each other."""
        a, b = self._array(a), self._array(b)
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}.")
        np.testing.assert_array_equal(a, b, err_msg=msg or "")

    def assertAllGreater(self, a, comparison_target):
        """All elements are greater."""
        self.assertGreater(self._array(a).min(), comparison_target)

    def assertAllGreaterEqual(self, a, comparison_target):
        self.assertGreaterEqual(self._array(a).min(), comparison_target)

    def assertAllLess(self, a, comparison_target):
        self.assertLess(self._array(a).max(), comparison_target)

    def assertAllLessEqual(self, a, comparison_target):
        self.assertLessEqual(self._array(a).max(), comparison_target)

    def assertAllInSet(self, target, expected_set):
        """All elements are among some."""
        self.assertLessEqual(set(self._array(target).ravel().tolist()), set(expected_set))

    def assertNear(self, f1, f2, err, msg=None):
        """|f1 - f2| is at most err."""
        self.assertTrue(
            f1 == f2 or abs(f1 - f2) <= err, f"{f1!r} != {f2!r} +/- {err!r} {msg or ''}".rstrip()
        )

    def assertArrayNear(self, farray1, farray2, err, msg=None):
        """assertNear, element by element."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2):
            self.assertNear(float(f1), float(f2), err, msg)

    def assertNDArrayNear(self, ndarray1, ndarray2, err, msg=None):
        """The norm of the difference of two arrays is less than err."""
        distance = np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2))
        self.assertLess(distance, err, msg)

    def assertShapeEqual(self, np_array, tf_tensor, msg=None):
        """An array has the shape that is known of a Tensor."""
        self.assertIsInstance(np_array, (np.ndarray, np.generic))
        self.assertEqual(np_array.shape, tuple(tf_tensor.get_shape().as_list()), msg)

    def assertDeviceEqual(self, device1, device2, msg=None):
        """Two devices are written the same."""
        self.assertEqual(str(device1 or ""), str(device2 or ""), msg)

    def assertStartsWith(self, actual, expected_start, msg=None):
        """A text starts with another."""
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not start with {expected_start!r}. {msg or ''}".rstrip())

    def assertEmpty(self, container, msg=None):
        self.assertEqual(len(container), 0, msg)

    def assertNotEmpty(self, container, msg=None):
        self.assertNotEqual(len(container), 0, msg)

    def assertLen(self, container, expected_len, msg=None):
        self.assertEqual(len(container), expected_len, msg)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate):
        """What runs inside raises an error whose text has an expression, or that a function finds right."""
        expected = expected_err_re_or_predicate

        def is_right(error):
            if callable(expected):
                return expected(error)
            text = error.message if isinstance(error, errors.OpError) else str(error)
            return re.search(expected, text) is not None

        try:
            yield
        except exception_type as error:
            if not is_right(error):
                raise AssertionError(
                    f"Exception of type {type(error).__name__}: {error}: is not what was expected"
                ) from error
            return
        self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate):
        """assertRaisesWithPredicateMatch for errors of running graphs."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)


def _is_even(values):
    """Whether a list becomes one array: numbers, or lists of one length."""
    try:
        return np.asarray(values).dtype != object
    except (NotImplementedError, ValueError):  # Tensors among them, or lists of several lengths
        return False


def main(argv=None):
    """Runs the tests of the program's main module, and ends the program.

    With --benchmarks=PATTERN among the arguments, it runs Benchmarks instead ("all" is for each of them).
    """
    arguments = sys.argv if argv is None else argv
    patterns = [each.partition("=")[2] for each in arguments if each.startswith("--benchmarks=")]
    if patterns:
        run_benchmarks("" if patterns[-1] == "all" else patterns[-1])
        sys.exit(0)
    unittest.main(argv=argv)


def test_src_dir_path(relative_path):
    """A path below this package's folder."""
    return os.path.join(os.path.dirname(os.path.dirname(__file__)), relative_path)


test_src_dir_path.__test__ = False


def assert_equal_graph_def(actual, expected, checkpoint_v2=False):
    """AssertionError unless two GraphDefs have the same nodes, in whatever order."""

    def nodes(graph_def):
        return {node.name: (node.op, node.device, list(node.input)) for node in graph_def.node}

    unittest.TestCase().assertEqual(nodes(actual), nodes(expected))


def is_built_with_cuda():
    """False: there are CPU devices alone."""
    return False


is_built_with_gpu_support = is_built_with_rocm = is_built_with_cuda


def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
    """False: there are CPU devices alone."""
    return False


def gpu_device_name():
    """Empty: there is none."""
    return ""
