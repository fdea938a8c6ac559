"""Nodes of a GraphDef by name, and what they need."""


def node_name(name):
    """The node of an input: "^a" and "a:1" are of "a"."""
    return name[1:] if name.startswith("^") else name.partition(":")[0]


def extract_graph_summary(graph_def):
    """Three dictionaries by the names of nodes: names of the nodes of their inputs, the nodes, their places."""
    inputs, nodes, places = {}, {}, {}
    for place, node in enumerate(graph_def.node):
        name = node_name(node.name)
        nodes[name], places[name] = node, place
        inputs[name] = [node_name(each) for each in node.input]
    return inputs, nodes, places


def reachable_nodes(target_nodes, name_to_input_name):
    """The names of nodes and of all that they need, through the first of those dictionaries."""
    found, waiting = set(), list(target_nodes)
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found.add(name)
            waiting += name_to_input_name.get(name, [])
    return found
