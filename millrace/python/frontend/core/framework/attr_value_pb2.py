"""tensorflow.core.framework.attr_value_pb2: attributes of nodes as messages."""

from millrace._saving.graph_messages import AttrValue, NameAttrList
