// The families of ops in this room: spectra of signals.
//
// A family is a source file with its ops as values; register_spectral adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_spectral(OpRegistry& ops);

// Fourier transforms along the last axes: FFT, FFT2D, FFT3D, the inverse ones, those of real
// signals (RFFT, IRFFT …), those along axes that are named (FFTND …), and the old names BatchFFT ….
Status register_ffts(OpRegistry& ops);

}  // namespace millrace
