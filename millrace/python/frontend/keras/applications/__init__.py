"""tf.keras.applications: nets for pictures, with weights of ImageNet or without."""

from millrace._keras.nets.dense import DenseNet121, DenseNet169, DenseNet201
from millrace._keras.nets.inception import InceptionResNetV2, InceptionV3
from millrace._keras.nets.mobile import MobileNet, MobileNetV2
from millrace._keras.nets.residual import (
    ResNet101,
    ResNet101V2,
    ResNet152,
    ResNet152V2,
    ResNet50,
    ResNet50V2,
)
from millrace._keras.nets.searched import NASNetLarge, NASNetMobile
from millrace._keras.nets.vgg import VGG16, VGG19
from millrace._keras.nets.xception import Xception
from millrace.keras.applications import (
    densenet,
    imagenet_utils,
    inception_resnet_v2,
    inception_v3,
    mobilenet,
    mobilenet_v2,
    nasnet,
    resnet,
    resnet50,
    resnet_v2,
    vgg16,
    vgg19,
    xception,
)
