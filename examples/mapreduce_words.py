"""Counts every word of texts, alone or on a cluster, in a line.

    millrace run --job files=1 --job map=2 --job reduce=2 --until files --restart map=100 --restart reduce=100 -- \
        python3 examples/mapreduce_words.py 'texts/*.txt' counts

The folder `counts` appears when all is counted. Tasks may be killed meanwhile: what they had is done again.
"""

import sys

from millrace import mapreduce

mapreduce.run(sys.argv[1], str.split, sys.argv[2], reduce=mapreduce.tally)
