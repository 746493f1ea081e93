"""Optimizers of the C core, learning-rate schedules; PyTorch has the schedules in torch.optim.lr_scheduler."""

from . import lr_scheduler
from .base import Optimizer, OptimizerGroup, ParamGroup
from .kinds import (
    ASGD,
    LAMB,
    LARS,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Muon,
    NAdam,
    RAdam,
    RMSprop,
    Rprop,
    SparseAdam,
)  # fmt: skip
from .lbfgs import LBFGS
from .lr_scheduler import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)  # fmt: skip

__all__ = [
    "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LAMB", "LARS", "LBFGS", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "Muon", "NAdam",
    "OneCycleLR", "Optimizer", "OptimizerGroup", "ParamGroup", "PolynomialLR", "RAdam", "RMSprop", "ReduceLROnPlateau", "Rprop", "SGD",
    "SequentialLR", "SparseAdam", "StepLR", "lr_scheduler",
]  # fmt: skip
