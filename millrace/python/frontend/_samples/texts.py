"""Texts as numbers: words counted, numbered and made vectors, as tf.keras.preprocessing.text has it."""

import collections
import hashlib
import json

import numpy as np

FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(text, filters=FILTERS, lower=True, split=" "):
    """The words of a text, a list.

    Args:
      text: a string.
      filters: characters that count as `split`.
      lower: whether to make letters small.
      split: what is between words.
    """
    text = text.lower() if lower else text
    text = text.translate({ord(each): split for each in filters})
    return [word for word in text.split(split) if word]


def hashing_trick(text, n, hash_function=None, filters=FILTERS, lower=True, split=" "):
    """The words of a text as numbers from 1 to n - 1, which several words may share.

    Args:
      n: how many numbers there are, with 0.
      hash_function: gives an integer for a word; None for Python's `hash`, which differs between
        processes; "md5" for one that does not.
      filters, lower, split: as for text_to_word_sequence.
    """
    if hash_function == "md5":

        def hash_function(word):
            return int(hashlib.md5(word.encode()).hexdigest(), 16)

    number = hash if hash_function is None else hash_function
    words = text_to_word_sequence(text, filters, lower, split)
    return [number(word) % (n - 1) + 1 for word in words]


def one_hot(text, n, filters=FILTERS, lower=True, split=" "):
    """hashing_trick by Python's `hash`."""
    return hashing_trick(text, n, hash, filters, lower, split)


class Tokenizer:
    """Numbers for the words of texts, 1 for the most frequent one.

    Args:
      num_words: only numbers below this are used; None for all.
      filters, lower, split: as for text_to_word_sequence.
      char_level: whether characters are the words.
      oov_token: the word whose number, 1, stands for others; None to leave others out.
      document_count: how many texts were counted before.

    Attributes:
      word_counts, word_docs: how often words were, and in how many texts.
      word_index, index_word: numbers of words, and the other way round.
      document_count: the number of texts.
    """

    def __init__(
        self,
        num_words=None,
        filters=FILTERS,
        lower=True,
        split=" ",
        char_level=False,
        oov_token=None,
        document_count=0,
        **older,
    ):
        older.pop("nb_words", None)
        if older:
            raise TypeError(f"Unrecognized keyword arguments: {sorted(older)}")
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token = char_level, oov_token
        self.document_count = document_count
        self.word_counts = collections.OrderedDict()
        self.word_docs = collections.defaultdict(int)
        self.index_docs = collections.defaultdict(int)
        self.word_index, self.index_word = {}, {}

    def _words(self, text):
        if isinstance(text, (list, tuple)):
            return [word.lower() for word in text] if self.lower else list(text)
        if self.char_level:
            return list(text.lower() if self.lower else text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts):
        """Counts the words of texts, strings or lists of words, and numbers all anew."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        by_count = sorted(self.word_counts.items(), key=lambda item: item[1], reverse=True)
        first = [] if self.oov_token is None else [self.oov_token]
        names = [*first, *(word for word, _ in by_count if word not in first)]
        self.word_index = {word: i for i, word in enumerate(names, 1)}
        self.index_word = {i: word for word, i in self.word_index.items()}
        self.index_docs = collections.defaultdict(int)
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences):
        """Counts in how many lists of numbers these are, for "tfidf" of lists."""
        sequences = list(sequences)
        self.document_count += len(sequences)
        for sequence in sequences:
            for number in set(sequence):
                self.index_docs[number] += 1

    def texts_to_sequences(self, texts):
        """The numbers of the words of each text, a list of lists."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts):
        """texts_to_sequences, one after the other."""
        other = self.word_index.get(self.oov_token)
        for text in texts:
            numbers = (self.word_index.get(word) for word in self._words(text))
            known = (
                number if number is not None and self._is_used(number) else other
                for number in numbers
            )
            yield [number for number in known if number is not None]

    def _is_used(self, number):
        return not self.num_words or number < self.num_words

    def sequences_to_texts(self, sequences):
        """The words of numbers, a string for each list."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences):
        """sequences_to_texts, one after the other."""
        for sequence in sequences:
            words = (
                self.index_word.get(number) if self._is_used(number) else None
                for number in sequence
            )
            known = (self.oov_token if word is None else word for word in words)
            yield " ".join(word for word in known if word is not None)

    def texts_to_matrix(self, texts, mode="binary"):
        """sequences_to_matrix of texts."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences, mode="binary"):
        """A row for each list, a column for each number.

        Args:
          mode: "binary" for whether a number is there, "count" for how often, "freq" for its share, "tfidf"
            for (1 + log(count)) * log(1 + texts / (1 + texts with it)).

        Raises:
          ValueError: for another mode, or if it is not known how many columns there are.
        """
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise ValueError(f"Unknown vectorization mode: {mode}")
        if not self.num_words and not self.word_index:
            raise ValueError(
                "Specify a dimension (`num_words` argument), or fit on some text data."
            )
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        width = self.num_words or len(self.word_index) + 1
        made = np.zeros((len(sequences), width))
        for row, sequence in zip(made, sequences):
            counts = collections.Counter(number for number in sequence if number < width)
            for number, count in counts.items():
                if mode == "tfidf":
                    texts = self.document_count / (1 + self.index_docs.get(number, 0))
                    row[number] = (1 + np.log(count)) * np.log(1 + texts)
                else:
                    row[number] = {"binary": 1, "count": count, "freq": count / len(sequence)}[mode]
        return made

    def get_config(self):
        """{name: value} of its settings and counts; dictionaries are JSON texts."""
        settings = ("num_words", "filters", "lower", "split", "char_level", "oov_token")
        counted = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
        return {
            **{name: getattr(self, name) for name in (*settings, "document_count")},
            **{name: json.dumps(getattr(self, name)) for name in counted},
        }

    def to_json(self, **options):
        """A JSON text of which tokenizer_from_json makes the same; options: for json.dumps."""
        return json.dumps(
            {"class_name": type(self).__name__, "config": self.get_config()}, **options
        )


def tokenizer_from_json(json_string):
    """The Tokenizer of which to_json made a text."""
    config = json.loads(json_string)["config"]
    counted = {
        name: json.loads(config.pop(name))
        for name in ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
    }
    made = Tokenizer(**config)
    made.word_counts.update(counted["word_counts"])
    made.word_docs.update(counted["word_docs"])
    made.index_docs.update((int(key), value) for key, value in counted["index_docs"].items())
    made.index_word = {int(key): value for key, value in counted["index_word"].items()}
    made.word_index = counted["word_index"]
    return made
