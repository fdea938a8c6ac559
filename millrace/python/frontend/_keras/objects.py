"""Objects by their names: classes and functions of Keras's, and those that a program adds."""

_OWN = {}  # what the program added, by name


def get_custom_objects():
    """The dictionary of names that a program added; it may be changed."""
    return _OWN


class CustomObjectScope:
    """In a `with` block, names in these dictionaries stand for their values in all get() and deserialize()."""

    def __init__(self, *dictionaries):
        self.dictionaries, self._before = dictionaries, None

    def __enter__(self):
        self._before = dict(_OWN)
        for each in self.dictionaries:
            _OWN.update(each)
        return self

    def __exit__(self, *unused):
        _OWN.clear()
        _OWN.update(self._before)


def custom_object_scope(*dictionaries):
    """CustomObjectScope."""
    return CustomObjectScope(*dictionaries)


def serialize(instance):
    """What deserialize makes the same object of: its name, or {"class_name": ..., "config": ...}.

    Raises:
      ValueError: if it is neither an object with get_config nor a function with a name.
    """
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        return {"class_name": type(instance).__name__, "config": instance.get_config()}
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise ValueError(f"Cannot serialize {instance!r}: it has neither get_config nor a name")


def deserialize(identifier, known, custom_objects=None, what="object", makes=False):
    """The object that serialize was given.

    Args:
      identifier: a name or {"class_name", "config"}.
      known: {name: class or function}; None for a dictionary without any.
      custom_objects: {name: class or function} that go before.
      what: what it is, for messages.
      makes: whether the known functions are called, as classes are, to make the object.

    Raises:
      ValueError: for unknown names and other values.
    """
    names = {**(known or {}), **_OWN, **(custom_objects or {})}
    if identifier is None:
        return None
    is_config = isinstance(identifier, dict) and "class_name" in identifier
    if not is_config and not isinstance(identifier, str):
        raise ValueError(f"Could not interpret serialized {what}: {identifier!r}")
    name = identifier["class_name"] if is_config else identifier
    if name not in names:
        raise ValueError(f"Unknown {what}: {name}; there are {sorted(names)}")
    found = names[name]
    if not isinstance(found, type) and not (makes and (known or {}).get(name) is found):
        return found
    config = identifier.get("config") or {} if is_config else {}
    if not hasattr(found, "from_config"):
        return found(**config)
    with CustomObjectScope(custom_objects or {}):
        return found.from_config(config)


def get(identifier, known, what, makes=False):
    """An object by its name or serialized form; a class made with its defaults; None and others as they are.

    Args: as for deserialize. Raises ValueError for unknown names and what cannot be called.
    """
    if isinstance(identifier, type):
        return identifier()
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier, known, None, what, makes)
    if identifier is None or callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret {what} identifier: {identifier!r}")


def serialize_keras_object(instance):
    """serialize."""
    return serialize(instance)


def deserialize_keras_object(
    identifier, module_objects=None, custom_objects=None, printable_module_name="object"
):
    """deserialize, of `module_objects` and those that the program added."""
    return deserialize(identifier, module_objects, custom_objects, printable_module_name)
