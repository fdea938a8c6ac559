"""The message that a SavedModel's file is: its graphs."""

from millrace._saving.meta_graph import MetaGraphDef, ReadableMetaGraph
from millrace._values.messages import Message, many


class SavedModelMessage(Message):
    _fields = {"saved_model_schema_version": (1, int), "meta_graphs": (2, many(MetaGraphDef))}


class ReadableSavedModel(Message):
    """The same with graphs taken apart: for text."""

    _fields = {"saved_model_schema_version": (1, int), "meta_graphs": (2, many(ReadableMetaGraph))}
