"""tf.keras.preprocessing.text: texts as numbers."""

import json

import numpy as np
import pytest

import millrace as tf

text = tf.keras.preprocessing.text
TEXTS = ["The cat sat on the mat.", "The dog sat; the log!", "a dog?"]


def test_words_are_what_is_between_filtered_characters():
    assert text.text_to_word_sequence("Hello, World!\tbye") == ["hello", "world", "bye"]
    assert text.text_to_word_sequence("A,b;C", filters=";", lower=False, split=",") == [
        "A",
        "b",
        "C",
    ]
    numbers = text.hashing_trick("one two one", 50, "md5")
    assert numbers[0] == numbers[2] and all(0 < number < 50 for number in numbers)
    assert len(text.one_hot("a b c", 10)) == 3


def test_words_are_numbered_by_how_often_they_are():
    tokenizer = text.Tokenizer()
    tokenizer.fit_on_texts(TEXTS)
    assert tokenizer.word_index["the"] == 1 and tokenizer.word_counts["the"] == 4
    assert [tokenizer.index_word[i] for i in (2, 3)] == ["sat", "dog"]
    assert tokenizer.word_docs["the"] == 2 and tokenizer.document_count == 3
    sequences = tokenizer.texts_to_sequences(["the dog flew", "cat"])
    assert sequences == [[1, 3], [tokenizer.word_index["cat"]]]
    assert tokenizer.sequences_to_texts(sequences) == ["the dog", "cat"]


def test_other_words_are_left_out_or_have_a_number():
    few = text.Tokenizer(num_words=3)
    few.fit_on_texts(TEXTS)
    assert few.texts_to_sequences(TEXTS) == [[1, 2, 1], [1, 2, 1], []]
    other = text.Tokenizer(num_words=3, oov_token="<other>")
    other.fit_on_texts(TEXTS)
    assert other.word_index["<other>"] == 1
    assert other.texts_to_sequences(["the new mat"]) == [[2, 1, 1]]
    assert other.sequences_to_texts([[2, 1, 9]]) == ["the <other> <other>"]
    letters = text.Tokenizer(char_level=True)
    letters.fit_on_texts(["aab"])
    assert letters.texts_to_sequences(["ba"]) == [[2, 1]]


def test_texts_are_rows_of_a_matrix():
    tokenizer = text.Tokenizer()
    tokenizer.fit_on_texts(TEXTS)
    made = {m: tokenizer.texts_to_matrix(TEXTS, m) for m in ("binary", "count", "freq", "tfidf")}
    assert made["count"].shape == (3, len(tokenizer.word_index) + 1)
    assert made["count"][0, 1] == 2 and made["binary"][0, 1] == 1
    assert np.isclose(made["freq"][0, 1], 2 / 6)
    assert np.isclose(made["tfidf"][0, 1], (1 + np.log(2)) * np.log(1 + 3 / (1 + 2)))
    with pytest.raises(ValueError, match="mode: ones"):
        tokenizer.texts_to_matrix(TEXTS, "ones")
    with pytest.raises(ValueError, match="num_words"):
        text.Tokenizer().texts_to_matrix(["a"])


def test_a_tokenizer_can_be_written_and_read():
    tokenizer = text.Tokenizer(num_words=4, oov_token="?")
    tokenizer.fit_on_texts(TEXTS)
    again = text.tokenizer_from_json(tokenizer.to_json())
    assert json.loads(again.to_json()) == json.loads(tokenizer.to_json())
    assert again.texts_to_sequences(TEXTS) == tokenizer.texts_to_sequences(TEXTS)
    assert np.allclose(
        again.texts_to_matrix(TEXTS, "tfidf"), tokenizer.texts_to_matrix(TEXTS, "tfidf")
    )
