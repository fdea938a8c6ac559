"""Profiles as trees: of scopes, or of nodes and what they read.

First the nodes are chosen whose type is asked for, and sums made upwards; then names, depths and least figures
choose what is shown. A graph is a tree here by the first way on which a node is reached. Nothing recurs: graphs are
deeper than Python's stack.
"""

import re

from millrace._profiling import text
from millrace._profiling.messages import FIGURES, GraphNodeProto, InputShape
from millrace._profiling.nodes import ProfiledNode
from millrace._profiling.options import ALL, BYTES, COUNTS, TIMES
from millrace._saving.graph_messages import Dim, TensorShapeProto

ROOT = "_TFProfRoot"
SCOPE = "_kTFScopeParent"  # the op of what is a scope alone


class Item:
    """A node in a tree: what it costs, and that with what is shown below it."""

    def __init__(self, node):
        self.node = node
        self.children, self.shown = [], []
        self.is_accounted = False
        self.own = self.total = {}
        self.line = ""

    def begin(self, step):
        """Its own figures, and a sum of them alone."""
        self.own = self.node.figures(step)
        self.total = {**self.own, "definition_count": 1}

    def add(self, other):
        self.total = {name: self.total[name] + other.total[name] for name in self.total}

    def message(self):
        """Its GraphNodeProto, without children."""
        made = GraphNodeProto(name=self.node.name, devices=list(self.node.devices))
        for name in FIGURES:
            setattr(made, name, self.own[name])
            setattr(made, f"total_{name}", self.total[name])
        made.total_definition_count = self.total["definition_count"]
        for index, sizes in self.node.input_shapes.items():
            made.input_shapes.append(InputShape(key=index, value=_shape_message(sizes)))
        return made


def _shape_message(sizes):
    return TensorShapeProto(dim=[Dim(size=size) for size in sizes])


def matches(name, regexes):
    """Whether one of the patterns is the whole name."""
    return any(re.fullmatch(regex, name) for regex in regexes)


def is_chosen(node, regexes):
    """Whether one of its types is asked for."""
    return regexes == ALL or any(matches(each, regexes) for each in node.types)


def is_long_enough(total, own, options, occurrences):
    """Whether figures reach the least that is asked for; of memory, which nobody measures, none is asked."""
    least = {
        **{f"min_{each}": total[name] for each, name in TIMES.items()},
        **{f"min_{each}": own[name] for each, name in COUNTS.items()},
        "min_occurrence": occurrences,
    }
    return all(value >= options[name] for name, value in least.items())


def is_named(name, options):
    """Whether a name is to be shown."""
    return matches(name, options["show_name_regexes"]) and not matches(
        name, options["hide_name_regexes"]
    )


def scope_tree(nodes):
    """The Item of all nodes, below those of their scopes."""
    items = {name: Item(node) for name, node in nodes.items()}
    for name in nodes:
        scope = name.rpartition("/")[0]
        while scope and scope not in items:
            items[scope] = Item(ProfiledNode(scope, SCOPE))
            scope = scope.rpartition("/")[0]
    root = Item(ProfiledNode(ROOT, SCOPE))
    for name in sorted(items):
        scope = name.rpartition("/")[0]
        (items[scope] if scope else root).children.append(items[name])
    return root


def graph_tree(nodes):
    """The Item of all nodes that nobody reads, above what they read."""
    items = {name: Item(nodes[name]) for name in sorted(nodes)}
    read = set()
    for item in items.values():
        item.children = [items[name] for name in item.node.inputs if name in items]
        read.update(item.node.inputs)
    root = Item(ProfiledNode(ROOT, SCOPE))
    root.children = [item for name, item in items.items() if name not in read]
    return root


def _afterwards(root, below, enter=lambda item, above: True):
    """Yields (item, the items below it that were entered), each after those.

    Args:
      root: where to begin.
      below: gives the items below one.
      enter: asked with an item and the one above it when it is reached first; not entered if it says no.
    """
    seen = {id(root)}
    stack = [(root, iter(below(root)), [])]
    while stack:
        item, rest, entered = stack[-1]
        for child in rest:
            if id(child) not in seen and enter(child, item):
                seen.add(id(child))
                entered.append(child)
                stack.append((child, iter(below(child)), []))
                break
        else:
            stack.pop()
            yield item, entered


def _account(root, options, keeps_scopes):
    """Chooses by types, and makes sums: `shown` of an Item are those chosen below it."""
    chosen = {}  # what stands for an item above it: itself, or those below it
    for item, below in _afterwards(root, lambda each: each.children):
        found = [each for child in below for each in chosen.pop(id(child))]
        item.begin(options["step"])
        item.is_accounted = item is not root and is_chosen(
            item.node, options["account_type_regexes"]
        )
        if item is root:
            item.total = dict.fromkeys(item.total, 0)
        if item is root or item.is_accounted or (keeps_scopes and found):
            item.shown = found
            for each in found:
                item.add(each)
            found = [item]
        chosen[id(item)] = found


def _begin_at(root, regexes):
    """Leaves what is above the names to begin with."""
    if regexes == ALL:
        return
    begun, waiting = [], list(reversed(root.shown))
    while waiting:
        item = waiting.pop()
        if matches(item.node.name, regexes):
            begun.append(item)
        else:
            waiting.extend(reversed(item.shown))
    root.shown = begun


def sorted_by(items, order, figure):
    """Items that stand by name, in another order: by figure(item, name of FIGURES), the most first."""
    by = {**BYTES, **TIMES, **COUNTS}.get(order)
    return items if by is None else sorted(items, key=lambda each: -figure(each, by))


def _show(root, options):
    """Chooses what is shown, and sorts it; makes sums anew if they are to be of that alone."""
    depths, visible = {id(root): 1}, {id(root): True}

    def enter(item, above):
        depth = depths[id(above)] + 1
        is_trimmed = matches(above.node.name, options["trim_name_regexes"])
        if is_trimmed or depths[id(above)] > options["max_depth"]:
            return False
        depths[id(item)] = depth
        visible[id(item)] = (
            depth <= options["max_depth"]
            and is_named(item.node.name, options)
            and is_long_enough(item.total, item.own, options, item.own["run_count"])
        )
        return True

    found = {}
    for item, below in _afterwards(root, lambda each: each.shown, enter):
        shown = [each for child in below for each in found.pop(id(child))]
        if not visible[id(item)]:
            found[id(item)] = shown
            continue
        shown.sort(key=lambda each: each.node.name)
        shown = sorted_by(shown, options["order_by"], lambda each, name: each.total[name])
        item.shown = shown
        if options["account_displayed_op_only"]:
            item.begin(options["step"])
            for each in shown:
                item.add(each)
        found[id(item)] = [item]


def profile_tree(root, options, keeps_scopes):
    """(the text, the GraphNodeProto) of a tree, as the options want it.

    Args:
      root: an Item, from scope_tree or graph_tree.
      options: as `checked_options` gives them.
      keeps_scopes: whether an item that isn't chosen stays if something below it is.
    """
    _account(root, options, keeps_scopes)
    _begin_at(root, options["start_name_regexes"])
    _show(root, options)
    lines, whole = [text.legend(options["select"])], root.message()
    waiting = [(root, 0, whole)]
    while waiting:
        item, depth, message = waiting.pop()
        lines.append(" " * (2 * depth) + text.tree_line(item, options["select"]))
        below = []
        for each in item.shown:
            made = each.message()
            message.children.append(made)
            below.append((each, depth + 1, made))
        waiting.extend(reversed(below))
    return "".join(lines), whole
