"""tf.profiler: what nodes cost, by scope, by what they read, by op and by line."""

import json

import numpy as np
import pytest

import millrace as tf

_builder = tf.profiler.ProfileOptionBuilder


def _quiet(options):
    return _builder(options).with_empty_output().build()


@pytest.fixture(name="net")
def _net():
    """(a placeholder, what a step runs) of a small net: 4 -> 3 -> 1."""
    x = tf.placeholder(tf.float32, [8, 4], name="x")
    with tf.variable_scope("hidden"):
        weights = tf.get_variable("w", [4, 3])
        bias = tf.get_variable("b", [3], use_resource=True)
        hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, weights), bias))
    with tf.variable_scope("out"):
        scale = tf.get_variable("scale", [])
        tf.get_variable("kept", [10], trainable=False)
        return x, tf.reduce_sum(hidden * scale, name="sum")


def _traced(net):
    x, out = net
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(
            out,
            {x: np.ones((8, 4))},
            options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
            run_metadata=metadata,
        )
    return metadata


def _children(message):
    return {each.name: each for each in message.children}


def test_parameters_of_what_is_trained_are_printed_by_scope(net, capsys):
    made = tf.profiler.profile()
    assert made.total_parameters == 4 * 3 + 3 + 1
    scopes = _children(made)
    assert {name: each.total_parameters for name, each in scopes.items()} == {
        "hidden": 15,
        "out": 1,
    }
    assert [each.name for each in scopes["hidden"].children] == ["hidden/b", "hidden/w"]
    printed = capsys.readouterr().out
    assert "node name | # parameters\n_TFProfRoot (--/16 params)\n" in printed
    assert "    hidden/w (4x3, 12/12 params)\n" in printed
    assert "kept" not in printed


def test_operations_are_counted_and_the_most_come_first(net):
    made = tf.profiler.profile(options=_quiet(_builder.float_operation()))
    assert made.children[0].name == "hidden/MatMul"
    assert made.children[0].float_ops == 2 * 8 * 4 * 3
    shown = _children(made)
    assert shown["hidden/BiasAdd"].float_ops == 24
    assert shown["out/sum"].float_ops == 23


def test_convolutions_and_pools_are_counted_as_tensorflow_counts_them():
    images = tf.placeholder(tf.float32, [2, 6, 6, 3])
    filters = tf.get_variable("filters", [3, 3, 3, 5])
    made = tf.nn.conv2d(images, filters, [1, 2, 2, 1], "SAME", name="convolution")
    pooled = tf.nn.max_pool(made, [1, 2, 2, 1], [1, 1, 1, 1], "VALID", name="pool")
    tf.gradients(pooled, [images, filters], name="back")
    counted = {}
    root = tf.profiler.profile(cmd="op", options=_quiet(_builder.float_operation()))
    while root.children:
        root = root.children[0]
        counted[root.name] = root.float_ops
    assert counted["Conv2D"] == 2 * (2 * 3 * 3 * 5) * 3 * 3 * 3
    assert counted["MaxPool"] == 4 * (2 * 2 * 2 * 5)
    assert counted["MaxPoolGrad"] == 5 * (2 * 2 * 2 * 5)
    assert counted["Conv2DBackpropInput"] == 2 * (2 * 6 * 6) * (3 * 3 * 3 * 5) // 4
    assert counted["Conv2DBackpropFilter"] == counted["Conv2DBackpropInput"]


def test_what_has_no_known_shape_is_told_of_and_not_counted(capsys):
    x = tf.placeholder(tf.float32, [None, 4])
    tf.square(x)
    made = tf.profiler.profile(options=_quiet(_builder.float_operation()))
    assert made.total_float_ops == 0
    assert "1 ops no flops stats due to incomplete shapes." in capsys.readouterr().err


def test_times_of_a_step_add_up_in_every_view(net):
    metadata = _traced(net)
    ran = sum(
        stats.op_end_rel_micros
        for device in metadata.step_stats.dev_stats
        for stats in device.node_stats
        if not stats.node_name.startswith("_")
    )
    options = _quiet(_builder.time_and_memory(min_micros=0))
    totals = {
        view: tf.profiler.profile(run_meta=metadata, cmd=view, options=options).total_exec_micros
        for view in ("scope", "graph", "op", "code")
    }
    assert len(set(totals.values())) == 1
    assert 0 <= totals["op"] <= ran


def test_a_graph_is_a_tree_of_what_reads_and_what_is_read(net):
    options = _builder(_quiet(_builder.float_operation())).with_node_names(
        start_name_regexes=["out/sum"]
    )
    made = tf.profiler.profile(cmd="graph", options=options.build())
    chain = []
    while made.children:
        made = made.children[0]
        chain.append(made.name)
    assert chain == ["out/sum", "out/mul", "hidden/BiasAdd", "hidden/MatMul"]


def test_a_graph_deeper_than_pythons_stack_is_shown():
    y = tf.placeholder(tf.float32, [2])
    for _ in range(3000):
        y = tf.negative(y)
    made = tf.profiler.profile(cmd="graph", options=_quiet(_builder.float_operation()))
    assert made.total_float_ops == 6000


def test_lines_of_the_program_have_the_nodes_that_they_made(net):
    options = _quiet(_builder.float_operation())
    made = tf.profiler.profile(cmd="code", options=options)
    assert made.children[0].name.startswith("test_profiler.py:")
    assert "hidden/MatMul" in [each.name for each in made.children[0].graph_nodes]


def test_names_and_types_choose_what_is_shown(net):
    options = _builder(_quiet(_builder.float_operation())).with_accounted_types(["MatMul"]).build()
    made = tf.profiler.profile(options=options)
    assert made.total_float_ops == 192
    hidden = _builder(_quiet(_builder.float_operation())).with_node_names(
        hide_name_regexes=["hidden.*"]
    )
    assert tf.profiler.profile(options=hidden.build()).total_float_ops == 24 + 23 + (
        3 + 21
    )  # two initializers


def test_a_program_may_give_nodes_types_and_operations_of_its_own(net):
    log = tf.profiler.OpLogProto()
    entry = log.log_entries.add(name="hidden/Relu", float_ops=7)
    entry.types.append("mine")
    options = _builder(_quiet(_builder.float_operation())).with_accounted_types(["mine"]).build()
    assert tf.profiler.profile(op_log=log, options=options).total_float_ops == 7


def test_an_op_may_be_given_a_count():
    from millrace.python.framework import ops

    @ops.RegisterStatistics("Cosh", "flops")
    def _count(graph, node):
        return ops.OpStats(
            "flops", 3 * graph.get_tensor_by_name(node.input[0] + ":0").shape[0].value
        )

    with pytest.raises(KeyError):
        ops.RegisterStatistics("Cosh", "flops")(_count)
    tf.cosh(tf.placeholder(tf.float32, [5]))
    made = tf.profiler.profile(options=_quiet(_builder.float_operation()))
    assert made.total_float_ops == 15


def test_steps_have_a_mean_and_are_told_apart(net):
    profiler = tf.profiler.Profiler(tf.get_default_graph())
    metadata = _traced(net)
    assert profiler.add_step(1, metadata) > 0
    profiler.add_step(1, metadata)
    profiler.add_step(2, metadata)
    options = _builder(_quiet(_builder.time_and_memory(min_micros=0)))
    runs = {}
    for step in (1, 2, -1):
        made = profiler.profile_graph(options.with_step(step).build())
        runs[step] = made.total_run_count
    assert runs[1] == 2 * runs[2] > 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="step 3 was not added"):
        profiler.profile_graph(options.with_step(3).build())


def test_tables_and_timelines_are_written(net, tmp_path):
    options = _builder(_builder.trainable_variables_parameter())
    tf.profiler.profile(options=options.with_file_output(str(tmp_path / "table")).build())
    assert "hidden/w (4x3, 12/12 params)" in (tmp_path / "table").read_text()
    profiler = tf.profiler.Profiler()
    profiler.add_step(5, _traced(net))
    profiler.profile_graph(
        options.with_step(5).with_timeline_output(str(tmp_path / "line")).build()
    )
    events = json.loads((tmp_path / "line_5").read_text())["traceEvents"]
    # The plan has made one op of the product, its bias and the activation.
    assert any(event["name"] == "_FusedMatMul" for event in events)


def test_what_takes_longest_is_named(net, capsys):
    made = tf.profiler.advise(run_meta=_traced(net))
    assert (
        made.checkers["ExpensiveOperationChecker"].reports[0].startswith("top 1 operation type: ")
    )
    assert "top 1 graph node: " in capsys.readouterr().out
    nothing = tf.profiler.advise()
    assert nothing.checkers["ExpensiveOperationChecker"].reports == [
        "Missing run_meta for ExpensiveOperationChecker"
    ]


def test_an_op_log_is_written_for_other_programs(net, tmp_path):
    tf.profiler.write_op_log(tf.get_default_graph(), str(tmp_path))
    log = tf.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    entries = {entry.name: entry for entry in log.log_entries}
    assert entries["hidden/w"].types == ["_trainable_variables"]
    assert entries["hidden/MatMul"].float_ops == 192
    files = {each.key: each.value for each in log.id_to_string}
    trace = entries["hidden/MatMul"].code_def.traces[0]
    assert files[trace.file_id].endswith("test_profiler.py") and trace.lineno > 0


@pytest.mark.parametrize(
    "options, words",
    [
        ({"output": "paper"}, "output is 'paper'"),
        ({"select": ["colour"]}, "'colour'"),
        ({"order_by": "colour"}, "'colour'"),
        ({"min_colour": 1}, "'min_colour'"),
    ],
)
def test_options_that_there_are_not_are_refused(net, options, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        tf.profiler.profile(options={**_builder.float_operation(), **options})
    with pytest.raises(tf.errors.InvalidArgumentError, match="unknown cmd: tree"):
        tf.profiler.profile(cmd="tree")


def test_the_older_names_are_there(net, capsys):
    analyzer = tf.contrib.tfprof.model_analyzer
    made = analyzer.print_model_analysis(
        tf.get_default_graph(), tfprof_options=analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS
    )
    assert made.total_parameters == 16
    assert "_TFProfRoot (--/16 params)" in capsys.readouterr().out
