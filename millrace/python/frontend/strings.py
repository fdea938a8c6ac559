"""tf.strings: what is done with strings."""

from millrace._gen import as_string
from millrace._gen import string_join as join
from millrace._gen import string_lower as lower
from millrace._gen import string_strip as strip
from millrace._gen import string_to_hash_bucket_fast as to_hash_bucket_fast
from millrace._gen import string_to_hash_bucket_strong as to_hash_bucket_strong
from millrace._gen import string_to_number as to_number
from millrace._gen import string_upper as upper
from millrace._gen import unicode_script, unicode_transcode, unsorted_segment_join
from millrace._ops.text import reduce_join, regex_full_match, regex_replace, substr
from millrace._ops.text import string_format as format
from millrace._ops.text import string_length as length
from millrace._ops.text import string_to_hash_bucket as to_hash_bucket
from millrace._ragged.text import bytes_split, ngrams, split
from millrace._ragged.unicode_text import (
    unicode_decode,
    unicode_decode_with_offsets,
    unicode_encode,
    unicode_split,
    unicode_split_with_offsets,
)
