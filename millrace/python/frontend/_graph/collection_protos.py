"""Which collections hold what can be written as messages, and how.

Told by who defines such things; asked by who writes and reads MetaGraphs.
"""

_forms = {}


class CollectionForm:
    """How the items of one collection become messages.

    Attributes:
      message: the Message class.
      from_message: a function of (message, import_scope) that makes the item again.
    """

    def __init__(self, message, from_message):
        self.message = message
        self.from_message = from_message


def register_proto_function(collection, message, from_message):
    """Items of a collection, which have `to_proto`, are written as `message`s and read again."""
    _forms[collection] = CollectionForm(message, from_message)


def collection_form(collection):
    """The CollectionForm of a collection; None if its items are written by their names."""
    return _forms.get(collection)
