"""tf.test.StubOutForTesting: attributes of modules and objects replaced for a test, and put back."""

import inspect


class StubOutForTesting:
    """What a test replaced.

        with tf.test.StubOutForTesting() as stubs:
            stubs.Set(os.path, "exists", lambda path: True)

    Attributes come back when the block is left, or with CleanUp.
    """

    def __init__(self):
        self._set, self._smart = [], []

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.CleanUp()

    def Set(self, parent, child_name, new_child):
        """Replaces an attribute.

        Args:
          parent: a module, class or object.
          child_name: the attribute's name.
          new_child: what it is to be.

        Raises:
          AttributeError: if there is no such attribute.
        """
        before = getattr(parent, child_name)
        # Looked up in the class itself, a static method is what it was and no plain function.
        if inspect.isclass(parent):
            before = vars(parent).get(child_name, before)
        self._set.append((parent, before, child_name))
        setattr(parent, child_name, new_child)

    def SmartSet(self, obj, attr_name, new_attr):
        """Replaces an attribute where it is: in the object, its class, or a class above.

        Raises:
          AttributeError: if there is no such attribute.
        """
        owner = obj
        if not inspect.ismodule(obj) and attr_name not in getattr(obj, "__dict__", {}):
            kinds = inspect.getmro(obj if inspect.isclass(obj) else type(obj))
            owner = next((kind for kind in kinds if attr_name in vars(kind)), None)
        if owner is None or not hasattr(owner, attr_name):
            raise AttributeError(f"Attribute not found: {attr_name} of {obj!r}")
        self._smart.append((owner, attr_name, vars(owner).get(attr_name)))
        setattr(owner, attr_name, new_attr)

    def UnsetAll(self):
        """Puts back what Set replaced, the latest first."""
        for parent, before, name in reversed(self._set):
            setattr(parent, name, before)
        self._set = []

    def SmartUnsetAll(self):
        """Puts back what SmartSet replaced, the latest first."""
        for owner, name, before in reversed(self._smart):
            setattr(owner, name, before)
        self._smart = []

    def CleanUp(self):
        """Puts all back."""
        self.SmartUnsetAll()
        self.UnsetAll()
