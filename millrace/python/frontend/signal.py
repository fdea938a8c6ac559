"""tf.signal: Fourier and cosine transforms of signals, and signals in frames."""

from millrace._gen import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from millrace._ops.frames import frame, overlap_and_add
from millrace._ops.short_time_spectra import (
    fftshift,
    ifftshift,
    inverse_stft,
    inverse_stft_window_fn,
    linear_to_mel_weight_matrix,
    mfccs_from_log_mel_spectrograms,
    stft,
)
from millrace._ops.spectra import dct, idct, irfft, irfft2d, irfft3d, rfft, rfft2d, rfft3d
from millrace._ops.windows import hamming_window, hann_window
