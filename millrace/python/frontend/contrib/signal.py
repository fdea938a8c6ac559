"""tf.contrib.signal: signals in frames, and what is heard in them, by their older names."""

from millrace._ops.frames import frame, overlap_and_add
from millrace._ops.short_time_spectra import (
    inverse_stft,
    inverse_stft_window_fn,
    linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms,
    stft,
)
from millrace._ops.windows import hamming_window, hann_window
