"""Layers, optimizers, state and compiled training steps."""

from . import functional, optim, state
from .attention import MultiheadAttention
from .layers import (
    GRU,
    LSTM,
    BatchNorm,
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    ConvTranspose1d,
    ConvTranspose2d,
    Embedding,
    GroupNorm,
    GRUCell,
    InstanceNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    Linear,
    LSTMCell,
    RMSNorm,
)  # fmt: skip
from .module import (
    CELU,
    ELU,
    GELU,
    SELU,
    Dropout,
    Flatten,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    Identity,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    Module,
    ModuleList,
    ReLU,
    ReLU6,
    Sequential,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Softsign,
    Tanh,
)  # fmt: skip
from .optim import (
    LAMB,
    SGD,
    Adam,
    AdamW,
    CosineAnnealingLR,
    OneCycleLR,
    Optimizer,
    OptimizerGroup,
    ReduceLROnPlateau,
    RMSprop,
    StepLR,
    clip_grad_norm_,
    clip_grad_value_,
)  # fmt: skip
from .state import get_parameters, get_state_dict, load_state_dict, safe_load, safe_save, torch_load
from .step import CompiledTrainingStep, compile_step

__all__ = [n for n in dir() if not n.startswith("_")]
