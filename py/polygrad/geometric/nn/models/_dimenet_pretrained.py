"""Published parameters of DimeNet and DimeNet++, which lie in checkpoints of TensorFlow."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from ....tensor import Tensor

TARGETS = {0: "mu", 1: "alpha", 2: "homo", 3: "lumo", 5: "r2", 6: "zpve", 7: "U0", 8: "U", 9: "H", 10: "G", 11: "Cv"}
_NAMES = (
    (r"^rbf\.freq$", "rbf_layer/frequencies"),
    (r"^emb\.emb\.weight$", "emb_block/embeddings"),
    (r"^emb\.", "emb_block."),
    (r"^interaction_blocks\.", "int_blocks."),
    (r"(int_blocks\.\d+)\.lin\.", r"\1.final_before_skip."),
    (r"(output_blocks\.\d+)\.lin\.", r"\1.dense_final."),
    (r"\.lins\.", ".dense_layers."),
    (r"(output_blocks\.\d+|int_blocks\.\d+)\.lin_(up|down)\.", r"\1.\2_projection."),
    (r"(layers_(?:before|after)_skip\.\d+)\.lin(\d)\.", r"\1.dense_\2."),
    (r"\.lin_", ".dense_"),
    (r"\.lin\.", ".dense."),
    (r"\.W$", ".bilinear"),
    (r"\.weight$", ".kernel"),
    (r"\.", "/"),
)


def checkpoint_name(name: str) -> str:
    """The name that a parameter has in a checkpoint.

    >>> from polygrad.geometric.nn.models._dimenet_pretrained import checkpoint_name
    >>> checkpoint_name("interaction_blocks.0.layers_after_skip.1.lin2.weight")
    'int_blocks/0/layers_after_skip/1/dense_2/kernel'
    """
    for pattern, into in _NAMES:
        name = re.sub(pattern, into, name)
    return name


def from_qm9_pretrained(cls: Any, root: str, dataset: Any, target: int) -> tuple[Any, tuple[Any, Any, Any]]:
    """The model that was published for a target of QM9, and the dataset's parts for training, validation and test. Needs the package tensorflow
    for reading, and a network unless the files are in root."""
    if target not in TARGETS:
        raise ValueError(f"there is no published model for target {target}: choose one of {sorted(TARGETS)}")
    import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]

    from ...data import download_url

    path = os.path.join(os.path.expanduser(root), cls._folder, TARGETS[target])
    os.makedirs(path, exist_ok=True)
    if not os.path.exists(os.path.join(path, "checkpoint")):
        for name in ("checkpoint", "ckpt.data-00000-of-00002", "ckpt.data-00001-of-00002", "ckpt.index"):
            download_url(f"{cls.url}/{TARGETS[target]}/{name}", path)
    reader = tf.train.load_checkpoint(os.path.join(path, "ckpt"))
    model = cls(**cls._published)
    state = {}
    for name in model.state_dict():
        stored = checkpoint_name(name)
        value = reader.get_tensor(f"{stored}/.ATTRIBUTES/VARIABLE_VALUE")
        state[name] = Tensor(np.ascontiguousarray(value.T if stored.endswith("kernel") else value))
    model.load_state_dict(state)
    order = np.random.RandomState(seed=42).permutation(np.arange(130831))  # the split that the authors used
    return model, tuple(dataset[Tensor(part)] for part in np.split(order, [110000, 120000]))  # type: ignore[return-value]


__all__ = ["checkpoint_name", "from_qm9_pretrained"]
