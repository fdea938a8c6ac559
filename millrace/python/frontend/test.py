"""tf.test: tests of programs: TestCase, and gradients beside differences."""

from unittest import mock

from millrace._run.numeric_gradients import compute_gradient, compute_gradient_error
from millrace._testing.benchmark import Benchmark, benchmark_config
from millrace._testing.local_cluster import create_local_cluster
from millrace._testing.stubs import StubOutForTesting
from millrace._testing.test_case import (
    TestCase,
    assert_equal_graph_def,
    get_temp_dir,
    gpu_device_name,
    is_built_with_cuda,
    is_built_with_gpu_support,
    is_built_with_rocm,
    is_gpu_available,
    main,
    test_src_dir_path,
)
