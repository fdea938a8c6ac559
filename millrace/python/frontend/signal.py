"""tf.signal: Fourier and cosine transforms of signals."""

from millrace._gen import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from millrace._ops.spectra import dct, idct, irfft, irfft2d, irfft3d, rfft, rfft2d, rfft3d
