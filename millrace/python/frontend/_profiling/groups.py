"""Profiles as lists: the nodes of each op, or those that each line of the program made."""

from millrace._profiling import text
from millrace._profiling.messages import FIGURES, MultiGraphNodeProto
from millrace._profiling.options import ALL
from millrace._profiling.trees import (
    ROOT,
    Item,
    is_chosen,
    is_long_enough,
    is_named,
    matches,
    sorted_by,
)

_COUNTED = [name for name in FIGURES if name != "run_count"]


class Group:
    """Nodes of one name: what they cost, and that with what stands after them in the list.

    Args:
      name: of the group.
      nodes: the ProfiledNodes that were chosen.
      step: of which the figures are.
    """

    def __init__(self, name, nodes, step):
        self.name, self.nodes, self.step = name, nodes, step
        self.own = dict.fromkeys(_COUNTED, 0)
        for node in nodes:
            figures = node.figures(step)
            self.own = {each: self.own[each] + figures[each] for each in _COUNTED}
        self.total = dict(self.own)

    def add(self, other):
        self.total = {each: self.total[each] + other.total[each] for each in _COUNTED}

    def message(self):
        """Its MultiGraphNodeProto, without children."""
        made = MultiGraphNodeProto(name=self.name)
        for each in _COUNTED:
            setattr(made, each, self.own[each])
            setattr(made, f"total_{each}", self.total[each])
        for node in self.nodes:
            item = Item(node)
            item.begin(self.step)
            made.graph_nodes.append(item.message())
        return made


def _accumulate(groups):
    """Each with all that come after it, as a list that is read from its top has it."""
    after = None
    for group in reversed(groups):
        group.total = dict(group.own)
        if after is not None:
            group.add(after)
        after = group


def _from_the_start(groups, regexes):
    if not regexes or regexes == ALL:
        return groups
    for at, group in enumerate(groups):
        if matches(group.name, regexes):
            return groups[at:]
    return []


def _shown(groups, options):
    shown = []
    for depth, group in enumerate(_from_the_start(groups, options["start_name_regexes"])):
        if depth > options["max_depth"] or matches(group.name, options["trim_name_regexes"]):
            break
        if is_named(group.name, options) and is_long_enough(
            group.total, group.own, options, len(group.nodes)
        ):
            shown.append(group)
    return shown


def profile_groups(nodes, name_of, options):
    """(the text, the MultiGraphNodeProto) of a list of groups: each is the one child of the one before it.

    Args:
      nodes: ProfiledNodes.
      name_of: gives the name of a node's group.
      options: as `checked_options` gives them.
    """
    by_name = {}
    for node in nodes:
        if is_chosen(node, options["account_type_regexes"]):
            by_name.setdefault(name_of(node), []).append(node)
    groups = [Group(name, by_name[name], options["step"]) for name in sorted(by_name)]
    if options["order_by"] == "occurrence":
        groups.sort(key=lambda group: -len(group.nodes))
    else:
        groups = sorted_by(groups, options["order_by"], lambda group, figure: group.own[figure])
    _accumulate(groups)
    whole = Group(ROOT, [], options["step"])
    shown = _shown(groups, options)
    if options["account_displayed_op_only"]:
        groups = shown
        _accumulate(shown)
    if groups:
        whole.add(groups[0])
    lines = [text.legend(options["select"])]
    message = made = whole.message()
    for group in shown:
        lines.append(text.group_line(group, whole.total, options["select"]))
        message.children.append(group.message())
        message = message.children[0]
    return "".join(lines), made
