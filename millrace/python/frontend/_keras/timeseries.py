"""Windows of a series as batches that a model trains on."""

import numpy as np

from millrace._keras.batches import Sequence


class TimeseriesGenerator(Sequence):
    """Batches of (what was before a time, the target of that time).

    Args:
      data, targets: arrays of one length, of which the first axis is time.
      length: how many times before one a window reaches.
      sampling_rate: how far apart the times in a window are.
      stride: how far apart the windows are.
      start_index, end_index: the first and last time that is used; all if None.
      shuffle: whether windows are drawn at random.
      reverse: whether a window goes back in time.
      batch_size: how many windows a batch has.

    Raises:
      ValueError: if data and targets are not of one length, or there is no window.
    """

    def __init__(
        self,
        data,
        targets,
        length,
        sampling_rate=1,
        stride=1,
        start_index=0,
        end_index=None,
        shuffle=False,
        reverse=False,
        batch_size=128,
    ):
        if len(data) != len(targets):
            raise ValueError(
                "Data and targets have to be of same length. "
                f"Data length is {len(data)} while target length is {len(targets)}"
            )
        self.data, self.targets, self.length = data, targets, length
        self.sampling_rate, self.stride, self.batch_size = sampling_rate, stride, batch_size
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse = shuffle, reverse
        if self.start_index > self.end_index:
            raise ValueError(
                f"`start_index+length={self.start_index} > end_index={self.end_index}` is disallowed, "
                "as no part of the sequence would be left to be used as current step."
            )

    def __len__(self):
        step = self.batch_size * self.stride
        return (self.end_index - self.start_index + step) // step

    def __getitem__(self, index):
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            step = self.batch_size * self.stride
            first = self.start_index + step * index
            rows = np.arange(first, min(first + step, self.end_index + 1), self.stride)
        windows = np.array(
            [self.data[row - self.length : row : self.sampling_rate] for row in rows]
        )
        targets = np.array([self.targets[row] for row in rows])
        return (windows[:, ::-1] if self.reverse else windows), targets
