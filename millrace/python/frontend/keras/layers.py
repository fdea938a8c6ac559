"""tf.keras.layers: layers of models."""

from millrace._keras.attention import AdditiveAttention, Attention
from millrace._keras.convolutions import (
    AveragePooling1D,
    AveragePooling2D,
    AveragePooling3D,
    Conv1D,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    DepthwiseConv2D,
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalAveragePooling3D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    GlobalMaxPooling3D,
    MaxPooling1D,
    MaxPooling2D,
    MaxPooling3D,
    SeparableConv1D,
    SeparableConv2D,
)
from millrace._keras.convolving_recurrent import ConvLSTM2D
from millrace._keras.element_layers import (
    ELU,
    ActivityRegularization,
    LayerNormalization,
    Masking,
    PReLU,
    ThresholdedReLU,
)
from millrace._keras.feature_layers import DenseFeatures
from millrace._keras.inputs import Input, InputLayer
from millrace._keras.layer import Layer, deserialize, serialize
from millrace._keras.layers import (
    Activation,
    BatchNormalization,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Lambda,
    LeakyReLU,
    Permute,
    ReLU,
    RepeatVector,
    Reshape,
    Softmax,
)
from millrace._keras.local_layers import LocallyConnected1D, LocallyConnected2D
from millrace._keras.merging import (
    Add,
    Average,
    Concatenate,
    Dot,
    Maximum,
    Minimum,
    Multiply,
    Subtract,
    add,
    average,
    concatenate,
    dot,
    maximum,
    minimum,
    multiply,
    subtract,
)
from millrace._keras.noise import (
    AlphaDropout,
    GaussianDropout,
    GaussianNoise,
    SpatialDropout1D,
    SpatialDropout2D,
    SpatialDropout3D,
)
from millrace._keras.recurrent import RNN, StackedRNNCells
from millrace._keras.recurrent_cells import AbstractRNNCell, GRUCell, LSTMCell, SimpleRNNCell
from millrace._keras.recurrent_layers import GRU, LSTM, CuDNNGRU, CuDNNLSTM, SimpleRNN
from millrace._keras.resizing import (
    Cropping1D,
    Cropping2D,
    Cropping3D,
    UpSampling1D,
    UpSampling2D,
    UpSampling3D,
    ZeroPadding1D,
    ZeroPadding2D,
    ZeroPadding3D,
)
from millrace._keras.wrappers import Bidirectional, TimeDistributed, Wrapper
from millrace._layers.input_spec import InputSpec

AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D
MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution2DTranspose, Convolution3DTranspose = Conv2DTranspose, Conv3DTranspose
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
GlobalAvgPool1D, GlobalAvgPool2D, GlobalAvgPool3D = (
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalAveragePooling3D,
)
GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D = (
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    GlobalMaxPooling3D,
)
