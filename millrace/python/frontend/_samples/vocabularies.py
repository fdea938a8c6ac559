"""Texts as rows of numbers: of their words, or of their bytes."""

import pickle
import re

import numpy as np

_WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)


def tokenizer(iterator):
    """A list of words for each text that an iterator gives."""
    for value in iterator:
        yield _WORD.findall(value)


class CategoricalVocabulary:
    """Numbers for words, 0 for those that are not known.

    Args:
      unknown_token: what 0 stands for.
      support_reverse: whether numbers can become words again.
    """

    # The fields have TensorFlow's names: files of vocabularies are pickles.
    def __init__(self, unknown_token="<UNK>", support_reverse=True):
        self._unknown_token = unknown_token
        self._support_reverse = support_reverse
        self._reverse_mapping = [unknown_token] if support_reverse else None
        self._mapping = {unknown_token: 0}
        self._freq = {}
        self._freeze = False

    def __setstate__(self, state):
        former = {"_reverse": "_reverse_mapping", "_counts": "_freq", "_frozen": "_freeze"}
        self._reverse_mapping = None  # TensorFlow's have none without support_reverse
        self.__dict__.update({former.get(name, name): value for name, value in state.items()})

    def __len__(self):
        return len(self._mapping)

    def freeze(self, freeze=True):
        """From now on new words get no number, or do again."""
        self._freeze = freeze

    def get(self, category):
        """The number of a word; a new one for a new word, 0 if it is frozen."""
        number = self._mapping.get(category)
        if number is not None:
            return number
        if self._freeze:
            return 0
        number = self._mapping[category] = len(self._mapping)
        if self._reverse_mapping is not None:
            self._reverse_mapping.append(category)
        return number

    def add(self, category, count=1):
        """Counts a word, which gets a number."""
        number = self.get(category)
        if number > 0:
            self._freq[category] = self._freq.get(category, 0) + count

    def trim(self, min_frequency, max_frequency=-1):
        """Keeps only words that were counted more than `min_frequency` times, the most frequent first.

        Args:
          min_frequency: the count that is too low; max_frequency: the one that is too high, -1 for none.
        """
        ordered = sorted(
            sorted(self._freq.items(), key=lambda item: item[0]),
            key=lambda item: item[1],
            reverse=True,
        )
        kept = [
            (word, count)
            for word, count in ordered
            if count > min_frequency and (max_frequency <= 0 or count < max_frequency)
        ]
        self._freq = dict(kept)
        words = [self._unknown_token, *(word for word, _ in kept)]
        self._mapping = {word: number for number, word in enumerate(words)}
        if self._reverse_mapping is not None:
            self._reverse_mapping = words

    def reverse(self, class_id):
        """The word of a number. ValueError if that was not asked for."""
        if self._reverse_mapping is None:
            raise ValueError("This vocabulary wasn't initialized with support_reverse.")
        return self._reverse_mapping[class_id]


class _Reader(pickle.Unpickler):
    """Reads what TensorFlow's VocabularyProcessor saved as if it were from here."""

    def find_class(self, module, name):
        if module.partition(".")[2].startswith("contrib.learn.python.learn.preprocessing."):
            return globals()[name]
        return super().find_class(module, name)


class VocabularyProcessor:
    """Texts as rows of numbers of words, all of one length: cut, or filled up with 0.

    Args:
      max_document_length: the length.
      min_frequency: `fit` forgets words that do not come more often than this.
      vocabulary: a CategoricalVocabulary; a new one if None.
      tokenizer_fn: gives lists of words of an iterator of texts; `tokenizer` if None.

    Attributes:
      vocabulary_: the vocabulary.
    """

    def __init__(self, max_document_length, min_frequency=0, vocabulary=None, tokenizer_fn=None):
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents, unused_y=None):
        """Numbers the words of texts; gives itself."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def transform(self, raw_documents):
        """An int64 array for each text, one after another."""
        for words in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for place, word in enumerate(words[: self.max_document_length]):
                row[place] = self.vocabulary_.get(word)
            yield row

    def fit_transform(self, raw_documents, unused_y=None):
        """fit, then transform."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def reverse(self, documents):
        """The words of each row of numbers, with blanks between them."""
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in row)

    def save(self, filename):
        """Writes it to a file, for `restore`."""
        with open(filename, "wb") as file:
            file.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename):
        """The one that `save` wrote, here or in TensorFlow. The file must be trusted: it is a pickle, as in TensorFlow."""
        with open(filename, "rb") as file:
            return _Reader(file).load()


class ByteProcessor:
    """Texts as rows of their bytes, all of one length.

    Args:
      max_document_length: the length.
    """

    def __init__(self, max_document_length):
        self.max_document_length = max_document_length

    def fit(self, x):
        """Gives itself."""
        return self

    def transform(self, x):
        """A uint8 array for each text, one after another."""
        for text in x:
            data = text.encode() if isinstance(text, str) else bytes(text)
            row = np.zeros(self.max_document_length, np.uint8)
            cut = data[: self.max_document_length]
            row[: len(cut)] = np.frombuffer(cut, np.uint8)
            yield row

    def fit_transform(self, x):
        """transform."""
        return self.transform(x)

    def reverse(self, x):
        """The texts of rows of bytes."""
        for row in x:
            yield np.asarray(row, np.uint8).tobytes().rstrip(b"\0").decode()
