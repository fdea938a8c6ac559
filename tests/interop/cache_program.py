"""Prints what a dataset gives that is cached in files.

`python3 cache_program.py tensorflow` (or `millrace`) PREFIX COUNT: so many pairs of a number and a word, or what
is in the cache already. Run by test_cached_files.py.
"""

import json
import sys

from programs import module_named


def main():
    module, prefix, count = sys.argv[1:]
    tf = module_named(module)
    numbers = tf.data.Dataset.range(int(count))
    pairs = numbers.map(lambda n: (n * n, tf.as_string(n)))
    following = tf.data.make_one_shot_iterator(pairs.cache(prefix)).get_next()
    seen = []
    with tf.Session() as session:
        try:
            while True:
                number, word = session.run(following)
                seen.append([int(number), word.decode()])
        except tf.errors.OutOfRangeError:
            pass
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
