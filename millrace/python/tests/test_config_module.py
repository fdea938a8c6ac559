"""tf.config: what sessions without a ConfigProto are like, and which devices there are."""

import pytest

import millrace as tf
from millrace._run import process_options


@pytest.fixture(autouse=True)
def untouched():
    before = dict(vars(process_options.options), rewrites={})
    yield
    vars(process_options.options).update(before)


def test_the_cpu_is_the_one_device():
    (cpu,) = tf.config.experimental.list_physical_devices()
    assert cpu.device_type == "CPU" and cpu.name == "/physical_device:CPU:0"
    assert tf.config.experimental.list_physical_devices("GPU") == []
    assert tf.config.experimental.list_logical_devices("GPU") == []
    assert tf.config.experimental.get_visible_devices() == [cpu]
    assert tf.config.experimental_list_devices() == ["/job:localhost/replica:0/task:0/device:CPU:0"]


def test_programs_may_hide_gpus_and_not_the_cpu():
    (cpu,) = tf.config.experimental.list_physical_devices("CPU")
    tf.config.experimental.set_visible_devices([], "GPU")
    tf.config.experimental.set_visible_devices(cpu)
    with pytest.raises(ValueError, match="can't be left out"):
        tf.config.experimental.set_visible_devices([], "CPU")
    with pytest.raises(ValueError, match="Unrecognized device"):
        tf.config.experimental.set_visible_devices(["/physical_device:GPU:0"], "GPU")


def test_memory_grows_on_gpus_alone():
    (cpu,) = tf.config.experimental.list_physical_devices("CPU")
    for gpu in tf.config.experimental.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    with pytest.raises(ValueError, match="non-GPU"):
        tf.config.experimental.set_memory_growth(cpu, True)
    with pytest.raises(ValueError, match="Unrecognized device"):
        tf.config.experimental.get_memory_growth("gpu")


def test_the_cpu_may_be_several_devices_of_a_session():
    (cpu,) = tf.config.experimental.list_physical_devices("CPU")
    one = tf.config.experimental.VirtualDeviceConfiguration()
    assert tf.config.experimental.get_virtual_device_configuration(cpu) is None
    tf.config.experimental.set_virtual_device_configuration(cpu, [one, one])
    assert tf.config.experimental.get_virtual_device_configuration(cpu) == [one, one]
    assert len(tf.config.experimental.list_logical_devices()) == 2
    with tf.device("/cpu:1"):
        there = tf.constant(1.0)
    with tf.Session() as session:
        names = [device.name for device in session.list_devices()]
        assert [name[-5:] for name in names] == ["CPU:0", "CPU:1"]
        assert session.run(there) == 1.0
    limited = tf.config.experimental.VirtualDeviceConfiguration(memory_limit=100)
    with pytest.raises(ValueError, match="memory limit"):
        tf.config.experimental.set_virtual_device_configuration(cpu, [limited])


def test_soft_placement_counts_for_sessions_made_later():
    with tf.device("/gpu:0"):
        there = tf.constant(1.0)
    assert tf.config.get_soft_device_placement() is False
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(there)
    tf.config.set_soft_device_placement(True)
    with tf.Session() as session:
        assert session.run(there) == 1.0
    with tf.Session(config=tf.ConfigProto()) as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(there)


def test_what_was_set_is_given_back():
    tf.config.threading.set_inter_op_parallelism_threads(3)
    tf.config.threading.set_intra_op_parallelism_threads(2)
    tf.config.optimizer.set_jit(True)
    tf.config.optimizer.set_experimental_options({"constant_folding": False})
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    tf.debugging.set_log_device_placement(True)
    assert tf.config.threading.get_inter_op_parallelism_threads() == 3
    assert tf.config.threading.get_intra_op_parallelism_threads() == 2
    assert tf.config.optimizer.get_jit() is True and tf.debugging.get_log_device_placement()
    assert tf.config.optimizer.get_experimental_options() == {
        "constant_folding": False,
        "disable_meta_optimizer": True,
    }
    made = process_options.options.as_config()
    assert made.intra_op_parallelism_threads == 2 and made.log_device_placement
    assert made.graph_options.rewrite_options.disable_meta_optimizer
    assert made.graph_options.rewrite_options.constant_folding == 2
