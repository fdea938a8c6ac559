"""Profiles of a net, the same text for TensorFlow and Millrace.

`python3 profile_programs.py tensorflow` (or `millrace`) prints a JSON object: of each program the tree that
tf.profiler gives. Run by test_profiles_beside_tensorflow.py.
"""

from programs import print_results


def net(tf):
    images = tf.placeholder(tf.float32, [2, 8, 8, 3], name="images")
    zeros = tf.zeros_initializer()
    with tf.variable_scope("block"):
        filters = tf.get_variable("filters", [3, 3, 3, 4], initializer=zeros, use_resource=False)
        made = tf.nn.conv2d(images, filters, strides=[1, 2, 2, 1], padding="SAME", name="conv")
        made = tf.nn.max_pool(made, [1, 2, 2, 1], [1, 2, 2, 1], "VALID", name="pool")
    with tf.variable_scope("head"):
        weights = tf.get_variable("weights", [16, 5], initializer=zeros, use_resource=False)
        bias = tf.get_variable("bias", [5], initializer=zeros, use_resource=False)
        scale = tf.get_variable("scale", [], initializer=zeros, use_resource=False)
        tf.get_variable("kept", [7], initializer=zeros, trainable=False, use_resource=False)
        flat = tf.reshape(made, [2, 16])
        logits = tf.nn.bias_add(tf.matmul(flat, weights, name="product"), bias, name="biased")
        tf.reduce_mean(
            tf.square(tf.multiply(logits, scale, name="scaled"), name="squared"), name="mean"
        )


def tree(message):
    return {
        "name": message.name,
        "parameters": [message.parameters, message.total_parameters],
        "operations": [message.float_ops, message.total_float_ops],
        "children": [tree(each) for each in message.children],
    }


def profiled(tf, cmd, **options):
    builder = tf.profiler.ProfileOptionBuilder
    made = {**builder.float_operation(), "output": "none", **options}
    return tree(tf.profiler.profile(tf.get_default_graph(), cmd=cmd, options=made))


def parameters_by_scope(tf, session):
    net(tf)
    options = tf.profiler.ProfileOptionBuilder.trainable_variables_parameter()
    return profiled(tf, "scope", **{**options, "output": "none"})


def operations_by_scope(tf, session):
    net(tf)
    return profiled(tf, "scope", order_by="name")


def operations_with_all_counted(tf, session):
    net(tf)
    return profiled(tf, "scope", account_displayed_op_only=False, order_by="name")


def operations_of_scopes_down_to_a_depth(tf, session):
    net(tf)
    return profiled(tf, "scope", min_float_ops=0, max_depth=2, order_by="name")


def operations_by_what_reads_them(tf, session):
    net(tf)
    return profiled(tf, "graph", order_by="name")


def operations_from_a_name_on(tf, session):
    net(tf)
    return profiled(
        tf, "graph", start_name_regexes=["head/product"], min_float_ops=0, order_by="name"
    )


def operations_by_op(tf, session):
    net(tf)
    return profiled(tf, "op")


def some_names_alone(tf, session):
    net(tf)
    return profiled(tf, "scope", show_name_regexes=["head/.*"], hide_name_regexes=[".*mean"])


def some_types_alone(tf, session):
    net(tf)
    return profiled(tf, "scope", account_type_regexes=["Conv.*", "Mean"], order_by="name")


PROGRAMS = [
    parameters_by_scope,
    operations_by_scope,
    operations_with_all_counted,
    operations_of_scopes_down_to_a_depth,
    operations_by_what_reads_them,
    operations_from_a_name_on,
    operations_by_op,
    some_names_alone,
    some_types_alone,
]

if __name__ == "__main__":
    print_results(PROGRAMS)
