"""SaverDef: which nodes of a graph save and restore, as MetaGraphs tell it."""

from millrace._values.message_text import Enum
from millrace._values.messages import Message


class CheckpointFormatVersion(Enum):
    names = {0: "LEGACY", 1: "V1", 2: "V2"}


class SaverDef(Message):
    """A Saver by the names of its nodes, and how many checkpoints it keeps."""

    LEGACY, V1, V2 = 0, 1, 2
    CheckpointFormatVersion = CheckpointFormatVersion
    _fields = {
        "filename_tensor_name": (1, str),
        "save_tensor_name": (2, str),
        "restore_op_name": (3, str),
        "max_to_keep": (4, int),
        "sharded": (5, bool),
        "keep_checkpoint_every_n_hours": (6, float),
        "version": (7, CheckpointFormatVersion),
    }
