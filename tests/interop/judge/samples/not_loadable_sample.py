"""Needs what only TensorFlow's repository has."""

from tensorflow.python.kernel_tests import a_module_that_only_tests_use  # noqa: F401
