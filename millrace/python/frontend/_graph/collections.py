"""Collections: lists of things under names, by which parts of a program find each other."""

import re


class GraphKeys:
    """The names of the collections that the library itself uses."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    GLOBAL_STEP = "global_step"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    SUMMARIES = "summaries"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    REGULARIZATION_LOSSES = "regularization_losses"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    SAVEABLE_OBJECTS = "saveable_objects"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


class GraphCollections:
    """The collections of a graph."""

    def _init_collections(self):
        self._collections = {}

    @property
    def collections(self):
        """The names of the collections that hold something."""
        return list(self._collections)

    def get_all_collection_keys(self):
        return [name for name in self._collections if isinstance(name, str)]

    def add_to_collection(self, name, value):
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value):
        """Adds `value` to each of `names`, a name or a list of names."""
        names = (names,) if isinstance(names, str) else dict.fromkeys(names)
        for name in names:
            self.add_to_collection(name, value)

    def get_collection(self, name, scope=None):
        """A copy of a collection; with `scope`, only items whose name begins with it (a regex)."""
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_collection_ref(self, name):
        """The collection itself; changing it changes the graph's."""
        return self._collections.setdefault(name, [])

    def clear_collection(self, name):
        self._collections.pop(name, None)
