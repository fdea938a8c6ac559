"""tf.keras.layers: layers of models."""

from millrace._keras.layer import Input, Layer
from millrace._keras.layers import (
    Activation,
    Add,
    Average,
    AveragePooling1D,
    AveragePooling2D,
    BatchNormalization,
    Concatenate,
    Conv1D,
    Conv2D,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    Lambda,
    LeakyReLU,
    Maximum,
    MaxPooling1D,
    MaxPooling2D,
    Minimum,
    Multiply,
    Permute,
    ReLU,
    RepeatVector,
    Reshape,
    Softmax,
    Subtract,
    add,
    concatenate,
    multiply,
)
from millrace._keras.recurrent import GRU, LSTM, CuDNNGRU, CuDNNLSTM, SimpleRNN
from millrace._keras.wrappers import Bidirectional, TimeDistributed, Wrapper
from millrace._layers.input_spec import InputSpec

AvgPool1D, AvgPool2D, MaxPool1D, MaxPool2D = (
    AveragePooling1D,
    AveragePooling2D,
    MaxPooling1D,
    MaxPooling2D,
)
Convolution1D, Convolution2D = Conv1D, Conv2D
GlobalAvgPool1D, GlobalAvgPool2D = GlobalAveragePooling1D, GlobalAveragePooling2D
GlobalMaxPool1D, GlobalMaxPool2D = GlobalMaxPooling1D, GlobalMaxPooling2D
