"""Layers, losses, containers, optimizers, state and compiled training steps."""

from ..precision import GradScaler, autocast
from . import datasets, functional, init, optim, state, utils
from .activation import *  # noqa: F403
from .attention import MultiheadAttention
from .containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .later import UninitializedParameter, is_lazy, materialize
from .layers import (
    BatchNorm,
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Bilinear,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Embedding,
    EmbeddingBag,
    GroupNorm,
    InstanceNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    LayerNorm2d,
    Linear,
    LocalResponseNorm,
    RMSNorm,
    SyncBatchNorm,
)  # fmt: skip
from .losses import *  # noqa: F403
from .misc import *  # noqa: F403
from .module import Module, Parameter
from .optim import *  # noqa: F403
from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from .state import get_parameters, get_state_dict, load_state_dict, safe_load, safe_load_metadata, safe_save, tar_extract, torch_load, zip_extract
from .step import CompiledTrainingStep, compile_step
from .transformer import Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer
from .utils import clip_grad_norm_, clip_grad_value_

__all__ = [n for n in dir() if not n.startswith("_")]
