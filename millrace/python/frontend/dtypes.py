"""tf.dtypes: the types of elements, `as_dtype`, and values as other types."""

from millrace._gen import as_string
from millrace._ops.arithmetic import cast, saturate_cast
from millrace._ops.complex_values import complex
from millrace._values.dtypes import *
from millrace._values.dtypes import qint8, qint16, qint32, quint8, quint16

QUANTIZED_DTYPES = frozenset(
    each for kind in (qint8, quint8, qint16, quint16, qint32) for each in (kind, kind.as_reference)
)
