"""Files of graphs whose variables became constants, as TensorFlow's tool freeze_graph writes them."""

from millrace import _gen as gen_ops
from millrace._files.whole_files import read_file_to_string, write_string_to_file
from millrace._graph.graph import Graph
from millrace._graph.graph_def import GraphDef
from millrace._graph.graph_import import import_graph_def
from millrace._run.session import Session
from millrace._saving.checkpoint_reader import NewCheckpointReader
from millrace._saving.graph_messages import GraphDefMessage
from millrace._saving.meta_graph import read_meta_graph
from millrace._saving.parts_of_graphs import convert_variables_to_constants
from millrace._saving.saver import Saver
from millrace._saving.saver_def import SaverDef
from millrace._values import text_messages


def freeze_graph(
    input_graph,
    input_saver,
    input_binary,
    input_checkpoint,
    output_node_names,
    restore_op_name,
    filename_tensor_name,
    output_graph,
    clear_devices,
    initializer_nodes,
    variable_names_whitelist="",
    variable_names_blacklist="",
    input_meta_graph=None,
    input_saved_model_dir=None,
    saved_model_tags="serve",
    checkpoint_version=SaverDef.V2,
):
    """Writes the part of a graph that some nodes need, with a checkpoint's values in it as constants.

    Args:
      input_graph: the path of a GraphDef; "" or None with `input_meta_graph`.
      input_saver: the path of a SaverDef whose nodes are in the graph, or "".
      input_binary: whether these files are bytes, not protocol text.
      input_checkpoint: the path of the checkpoint.
      output_node_names: the names of the nodes, with commas between them.
      restore_op_name, filename_tensor_name: not looked at.
      output_graph: the path to write to; "" or None to write nothing.
      clear_devices: True to forget which devices nodes ask for.
      initializer_nodes: nodes to run once the values are there, with commas between them, or "".
      variable_names_whitelist, variable_names_blacklist: variables to convert, and those to leave, with
        commas between them.
      input_meta_graph: the path of a MetaGraphDef, in the place of `input_graph`.
      input_saved_model_dir: must be None: tf.saved_model.loader loads such a model, and tf.graph_util
        makes constants of it.
      saved_model_tags: goes with it.
      checkpoint_version: not looked at: the checkpoint says which it is.

    Returns:
      the GraphDef.

    Raises:
      ValueError: if there is no graph, or no checkpoint, or no names of nodes.
    """
    if input_saved_model_dir:
        raise ValueError(
            "freeze_graph: input_saved_model_dir is not read here; load the model with "
            "tf.saved_model.loader.load and call tf.graph_util.convert_variables_to_constants"
        )
    if not input_checkpoint:
        raise ValueError("freeze_graph: no input_checkpoint")
    if not output_node_names:
        raise ValueError("freeze_graph: output_node_names names no node")
    if input_meta_graph:
        data = read_meta_graph(input_meta_graph).graph_def
    elif input_graph:
        data = _message_in(input_graph, GraphDefMessage, input_binary).SerializeToString()
    else:
        raise ValueError("freeze_graph: neither input_graph nor input_meta_graph")
    definition = GraphDef.FromString(data)
    if clear_devices:
        for node in definition.node:
            node.device = ""
    graph = Graph()
    with graph.as_default(), Session(graph=graph) as session:
        import_graph_def(definition, name="")
        saver_def = _message_in(input_saver, SaverDef, input_binary) if input_saver else None
        _restore(session, graph, saver_def, input_checkpoint)
        if initializer_nodes:
            session.run(_names(initializer_nodes))
        frozen = convert_variables_to_constants(
            session,
            definition,
            _names(output_node_names),
            _names(variable_names_whitelist) or None,
            _names(variable_names_blacklist),
        )
    if output_graph:
        write_string_to_file(output_graph, frozen.SerializeToString())
    return frozen


def _names(text):
    return [name for name in (text or "").replace(" ", "").split(",") if name]


def _message_in(path, kind, is_binary):
    data = read_file_to_string(path, binary_mode=True)
    return kind.FromString(data) if is_binary else text_messages.from_text(kind, data.decode())


def _restore(session, graph, saver_def, checkpoint):
    if saver_def is not None:
        Saver(saver_def=saver_def).restore(session, checkpoint)
        return
    reader = NewCheckpointReader(checkpoint)
    nodes = {node.name: node for node in graph.get_operations()}
    references, assigns = {}, []
    for name in reader.get_variable_to_shape_map():
        node = nodes.get(name)
        if node is None:
            continue
        if node.type in ("Variable", "VariableV2"):
            references[name] = node.outputs[0]
        elif node.type == "VarHandleOp":
            assigns.append(gen_ops.assign_variable_op(node.outputs[0], reader.get_tensor(name)))
    if references:
        Saver(references).restore(session, checkpoint)
    session.run(assigns)
