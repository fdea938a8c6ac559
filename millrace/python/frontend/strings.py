"""tf.strings: what is done with strings."""

from millrace._gen import as_string
from millrace._gen import string_join as join
from millrace._gen import string_length as length
from millrace._gen import string_to_number as to_number
from millrace._ops.text import string_split as split
