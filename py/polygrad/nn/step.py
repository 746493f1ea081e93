"""compile_step: forward, backward and update as one compiled program."""

from __future__ import annotations

from typing import Any, Callable

from .._ffi import C
from ..autograd import current
from ..jit import Replay, Resized, trace
from ..tensor import Tensor
from .state import get_state_dict


class CompiledTrainingStep:
    """A training step that has been compiled: run() does all of it with the data that the inputs hold now."""

    def __init__(self, traced: Callable[[list[Tensor]], Replay], inputs: list[Tensor]):
        self.inputs = inputs
        self._steps = Resized(traced, inputs)
        self._replay = self._steps.first

    def run(self, *inputs: Any) -> None:
        """Runs forward, backward and optimizer. New inputs may be given: tensors, or arrays. The function is traced again for other sizes;
        its kernels are those of the first sizes, or, from the second on, of all sizes."""
        if not inputs:
            self._replay = self._steps.first
            self._replay.run(None)
            return
        if len(inputs) != len(self.inputs):
            raise ValueError(f"the step has {len(self.inputs)} inputs, got {len(inputs)}")
        tensors = [x if isinstance(x, Tensor) else Tensor(x, dtype=old.dtype) for x, old in zip(inputs, self.inputs)]
        self._replay = self._steps.of(tensors)
        self._replay.run(tensors)

    __call__ = run

    @property
    def loss(self) -> Tensor:
        """The loss of the last run."""
        return self._replay.output(0)

    def loss_value(self) -> float:
        """The loss of the last run as a number."""
        return float(self._replay.output(0).item())

    @property
    def n_kernels(self) -> int:
        """Number of compiled kernels."""
        return self._replay.n_kernels

    @property
    def n_intermediates(self) -> int:
        """Number of buffers between kernels, allocated once."""
        return self._replay.n_intermediates

    @property
    def peak_bytes(self) -> int:
        """What the graph's peak_bytes becomes in a run: all tensors that are live now, the results and the temporary memory of the step.
        Known before the step runs."""
        return self._replay.peak_bytes


def _part(state: list[Tensor]) -> None:
    """Tensors that were made equal, such as the zeros of several running means, share memory until one is changed; here each gets its own,
    because a step writes to memory that it knows by its tensor."""
    seen: set[int] = set()
    shared = []
    for t in state:
        place = None if t.requires_grad else C.poly_memory_id(t._h)
        if place in seen:
            shared.append(t.replace(t.clone()))
        elif place:
            seen.add(place)
    if shared:
        shared[0].realize(*shared[1:])


def compile_step(train_step: Callable[..., Any], model: Any, opt: Any, *inputs: Tensor) -> CompiledTrainingStep:
    """Traces train_step(model, opt, *inputs), which returns the loss, and compiles it. Nothing is updated by compiling; each run starts
    without gradients, and those that the parameters of opt have now are dropped.

    >>> from polygrad import Tensor
    >>> from polygrad.nn import Linear, SGD, compile_step, get_parameters
    >>> model = Linear(4, 1); opt = SGD(get_parameters(model), lr=0.01)
    >>> def train_step(model, opt, x, y):
    ...     loss = (model(x) - y).square().mean()
    ...     loss.backward()
    ...     opt.step()
    ...     opt.zero_grad()
    ...     return loss
    >>> step = compile_step(train_step, model, opt, Tensor.rand(8, 4), Tensor.rand(8, 1))
    >>> step.run(); a = step.loss_value()
    >>> step.run(); step.loss_value() < a
    True
    """
    state = list({id(t): t for t in get_state_dict(model).values()}.values())
    waiting = [t for t in (*state, *inputs) if not t.is_realized]
    if waiting:
        waiting[0].realize(*waiting[1:])
    _part(state)
    g = next((t._g for t in (*inputs, *state, *getattr(opt, "params", ()))), current())

    def traced(tensors: list[Tensor]) -> Replay:
        if hasattr(opt, "zero_grad"):
            opt.zero_grad()
        replay, structure = trace(g, lambda own: train_step(model, opt, *own), tensors)
        if structure[0] != "tensor" and replay.n_outputs == 0:
            raise ValueError("the traced step must return the loss")
        return replay

    return CompiledTrainingStep(traced, list(inputs))
