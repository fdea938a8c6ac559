"""The message in a checkpoint of objects: which object has which, and which tensors are whose."""

from millrace._values.messages import Message, many

# The name of the tensor, one string, that holds it.
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


class ObjectReference(Message):
    """An object that another one has as an attribute."""

    _fields = {"node_id": (1, int), "local_name": (2, str)}


class SerializedTensor(Message):
    """A tensor of an object, and its name in the checkpoint."""

    _fields = {"name": (1, str), "full_name": (2, str), "checkpoint_key": (3, str)}


class SlotVariableReference(Message):
    """A variable that an optimizer keeps for another one."""

    _fields = {
        "original_variable_node_id": (1, int),
        "slot_name": (2, str),
        "slot_variable_node_id": (3, int),
    }


class BoolValue(Message):
    _fields = {"value": (1, bool)}


class TrackableObject(Message):
    _fields = {
        "children": (1, many(ObjectReference)),
        "attributes": (2, many(SerializedTensor)),
        "slot_variables": (3, many(SlotVariableReference)),
        "has_checkpoint_values": (5, BoolValue),
    }


class TrackableObjectGraph(Message):
    """All objects; the first one is the root."""

    _fields = {"nodes": (1, many(TrackableObject))}
