"""Explanations by gradients of the output, and by Shapley values: the methods of the library Captum, written for lazy tensors."""

from __future__ import annotations

import inspect
from typing import Any, Callable

import numpy as np

from .... import nn
from ....tensor import Tensor
from ...utils.embedding import modules_of
from ..config import MaskType, ModelMode, ModelReturnType
from ..explanation import Explanation, HeteroExplanation
from .base import ExplainerAlgorithm, index_of
from .masks import clear_masks, set_hetero_masks, set_masks

Inputs = list[Tensor]
Output = Callable[[Inputs], Tensor]  # inputs to the chosen outputs, one number each


def saliency(output: Output, inputs: Inputs, model: Any, abs: bool = True) -> Inputs:
    """The gradient of the output at the inputs, or its absolute value."""
    slopes = _gradients(output, inputs)
    return [g.abs() for g in slopes] if abs else slopes


def input_x_gradient(output: Output, inputs: Inputs, model: Any) -> Inputs:
    """The gradient times the input."""
    return [g * x for g, x in zip(_gradients(output, inputs), inputs)]


def integrated_gradients(
    output: Output, inputs: Inputs, model: Any, baselines: Any = None, n_steps: int = 50, method: str = "gausslegendre"
) -> Inputs:
    """(x - b) times the integral of the gradient on the way from the baselines b (zeros if there are none) to the inputs x, by Gauss-Legendre
    quadrature with n_steps points, or Riemann sums: 'riemann_left', 'riemann_right', 'riemann_middle', 'riemann_trapezoid'."""
    if baselines is None:
        start: Inputs = [x.zeros_like() for x in inputs]
    else:
        given = baselines if isinstance(baselines, (list, tuple)) else [baselines] * len(inputs)
        start = [b if isinstance(b, Tensor) else Tensor.full(x.shape, float(b)) for b, x in zip(given, inputs)]
    places, weights = _quadrature(method, n_steps)
    total: Inputs = [Tensor.zeros(*x.shape).contiguous().realize() for x in inputs]
    for place, weight in zip(places, weights):
        # Place and weight are tensors, so that all steps are one plan.
        at, share = Tensor(np.array([place], np.float32)), Tensor(np.array([weight], np.float32))
        slopes = _gradients(output, [b + at * (x - b) for b, x in zip(start, inputs)])
        total = [t + share * g for t, g in zip(total, slopes)]
        total[0].realize(*total[1:])
    return [t * (x - b) for t, x, b in zip(total, inputs, start)]


def _quadrature(method: str, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Places in [0, 1] and weights that add up to 1."""
    if method == "gausslegendre":
        places, weights = np.polynomial.legendre.leggauss(steps)
        return (places + 1) / 2, weights / 2
    even = np.arange(steps)
    if method == "riemann_left":
        return even / steps, np.full(steps, 1 / steps)
    if method == "riemann_right":
        return (even + 1) / steps, np.full(steps, 1 / steps)
    if method == "riemann_middle":
        return (even + 0.5) / steps, np.full(steps, 1 / steps)
    if method == "riemann_trapezoid":
        if steps < 2:
            raise ValueError(f"riemann_trapezoid needs two steps or more, not {steps}")
        weights = np.full(steps, 1 / (steps - 1))
        weights[[0, -1]] /= 2
        return np.linspace(0, 1, steps), weights
    raise ValueError(f"method must be 'gausslegendre' or one of the Riemann sums, not {method!r}")


def guided_backprop(output: Output, inputs: Inputs, model: Any) -> Inputs:
    """The gradient with a backward pass of ReLU modules in which only positive gradients go on, and only where the input was positive."""
    return _through_relu(output, inputs, model, lambda g, x: (x > 0).where(g.relu(), 0.0))


def deconvolution(output: Output, inputs: Inputs, model: Any) -> Inputs:
    """The gradient with a backward pass of ReLU modules in which only positive gradients go on, whatever the input was."""
    return _through_relu(output, inputs, model, lambda g, x: g.relu())


def _through_relu(output: Output, inputs: Inputs, model: Any, rule: Callable[[Tensor, Tensor], Tensor]) -> Inputs:
    """Gradients at the inputs, with rule(gradient, input) as the backward pass of each call of a ReLU module: the program is cut there, and
    gradients go from cut to cut."""
    cuts: list[tuple[Tensor, Tensor]] = []  # input and output of each call

    def relu(x: Tensor) -> Tensor:
        cuts.append((x, x.relu().detach()))
        return cuts[-1][1]

    modules = [m for m in modules_of(model) if isinstance(m, nn.ReLU)]
    for m in modules:
        m.__dict__["forward"] = relu
    try:
        leaves = [x.detach().contiguous().requires_grad_() for x in inputs]
        out = output(leaves).sum()
    finally:
        for m in modules:
            m.__dict__.pop("forward", None)
    targets = [y for _, y in cuts] + leaves
    slopes = out.gradient(*targets, materialize_grads=True)
    for k in range(len(cuts) - 1, -1, -1):
        x, y = cuts[k]
        before = targets[:k] + leaves
        more = x.gradient(*before, gradient=rule(slopes[k], x), materialize_grads=True)
        for place, g in zip([*range(k), *range(len(cuts), len(targets))], more):
            slopes[place] = slopes[place] + g
    found = slopes[len(cuts) :]
    found[0].realize(*found[1:])
    return found


def shapley_value_sampling(
    output: Output, inputs: Inputs, model: Any, baselines: Any = None, n_samples: int = 25, perturbations_per_eval: int = 1
) -> Inputs:
    """The mean over n_samples random orders of how much the output changes when an entry of the inputs comes in after those before it.
    One call of the model for each entry and order."""
    rng = np.random.default_rng(int(Tensor.randint(1, low=0, high=2**31 - 1).item()))
    values = [x.numpy() for x in inputs]
    zero = 0.0 if baselines is None else float(baselines)
    sizes = [v.size for v in values]
    total = np.zeros(sum(sizes))
    flat = np.concatenate([v.reshape(-1) for v in values])
    cuts = np.cumsum(sizes)[:-1]

    def at(entries: np.ndarray) -> float:
        parts = [Tensor(p.reshape(v.shape).astype(v.dtype)) for p, v in zip(np.split(entries, cuts), values)]
        with Tensor.no_grad():
            return float(output(parts).sum().item())

    for _ in range(n_samples):
        now = np.full(flat.size, zero, flat.dtype)
        before = at(now)
        for k in rng.permutation(flat.size):
            now[k] = flat[k]
            after = at(now)
            total[k] += after - before
            before = after
    return [Tensor((p / n_samples).reshape(v.shape).astype(np.float32)) for p, v in zip(np.split(total, cuts), values)]


def _gradients(output: Output, inputs: Inputs) -> Inputs:
    leaves = [x.detach().contiguous().requires_grad_() for x in inputs]
    leaves[0].realize(*leaves[1:])
    slopes = list(output(leaves).sum().gradient(*leaves))
    slopes[0].realize(*slopes[1:])
    return slopes


METHODS: dict[str, Callable[..., Inputs]] = {
    "IntegratedGradients": integrated_gradients,
    "Saliency": saliency,
    "InputXGradient": input_x_gradient,
    "Deconvolution": deconvolution,
    "ShapleyValueSampling": shapley_value_sampling,
    "GuidedBackprop": guided_backprop,
}


class CaptumExplainer(ExplainerAlgorithm):
    r"""Attributes the output to the features of the nodes and to the edges, by the method that is named:

    | method | attribution of an input x |
    |---|---|
    | Saliency | \|df/dx\| (abs=False: df/dx) |
    | InputXGradient | x df/dx |
    | IntegratedGradients | x times the integral of df/dx from 0 (or baselines) to x; n_steps, method |
    | GuidedBackprop, Deconvolution | df/dx with only positive gradients through ReLU modules |
    | ShapleyValueSampling | mean change of f over random orders of the entries; n_samples |

    where f is the output for the target, and edges enter as a mask of ones. Captum itself is not needed.

    Shapes: node_mask [V, F], edge_mask [E]. node_mask_type is None or 'attributes'; a binary classifier gives probabilities.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import CaptumExplainer, Explainer
    >>> from polygrad.geometric.nn import SimpleConv
    >>> explainer = Explainer(SimpleConv(), CaptumExplainer("InputXGradient"), "model", dict(mode="regression", task_level="node"),
    ...     node_mask_type="attributes", edge_mask_type="object")
    >>> found = explainer(Tensor([[1.0], [2.0], [3.0]]), Tensor([[0, 2], [1, 1]]), index=1)
    >>> found.node_mask.tolist(), found.edge_mask.tolist()
    ([[1.0], [0.0], [3.0]], [1.0, 3.0])
    """

    SUPPORTED_METHODS = list(METHODS)

    def __init__(self, attribution_method: Any, **kwargs: Any):
        name = attribution_method if isinstance(attribution_method, str) else getattr(attribution_method, "__name__", repr(attribution_method))
        if name not in METHODS:
            raise ValueError(f"CaptumExplainer has the methods {', '.join(METHODS)}, not {name!r}")
        kwargs.pop("internal_batch_size", None)  # one graph at a time in any case
        known = list(inspect.signature(METHODS[name]).parameters)[3:]
        unknown = sorted(set(kwargs) - set(known))
        if unknown:
            raise TypeError(f"{name} takes the arguments {known}, not {unknown}")
        self.attribution_method, self.kwargs = name, kwargs

    def supports(self) -> bool:
        if self.explainer_config.node_mask_type not in (None, MaskType.attributes):
            return self._refuse("node_mask_type must be None or 'attributes'")
        config = self.model_config
        if config.mode == ModelMode.binary_classification and config.return_type != ModelReturnType.probs:
            return self._refuse("a model for binary classification must give probabilities: return_type='probs'")
        return True

    def forward(self, model: Any, x: Any, edge_index: Any, *, target: Any, index: Any = None, **kwargs: Any) -> Any:
        hetero = isinstance(x, dict)
        xs, edges = (x, edge_index) if hetero else ({None: x}, {None: edge_index})
        node_kinds = list(xs) if self.explainer_config.node_mask_type is not None else []
        edge_kinds = list(edges) if self.explainer_config.edge_mask_type is not None else []
        inputs = [xs[kind] for kind in node_kinds] + [Tensor.ones(edges[kind].shape[1]).contiguous() for kind in edge_kinds]
        at = index_of(index)
        classes = None if self.model_config.mode == ModelMode.regression else target if at is None else target[at]

        def output(given: Inputs) -> Tensor:
            seen = {**xs, **dict(zip(node_kinds, given))}
            masks = dict(zip(edge_kinds, given[len(node_kinds) :]))
            try:
                if masks and hetero:
                    set_hetero_masks(model, masks, edge_index, apply_sigmoid=False)
                elif masks:
                    set_masks(model, masks[None], edge_index, apply_sigmoid=False)
                out = model(seen if hetero else seen[None], edge_index, **kwargs)
            finally:
                clear_masks(model)
            return self._chosen(out if at is None else out[at], classes)

        found = METHODS[self.attribution_method](output, inputs, model, **self.kwargs)
        found[0].realize(*found[1:])
        nodes, links = dict(zip(node_kinds, found)), dict(zip(edge_kinds, found[len(node_kinds) :]))
        if not hetero:
            return Explanation(node_mask=nodes.get(None), edge_mask=links.get(None))
        out = HeteroExplanation()
        out.set_value_dict("node_mask", nodes)
        out.set_value_dict("edge_mask", links)
        return out

    def _chosen(self, out: Tensor, classes: Tensor | None) -> Tensor:
        """The outputs for the target classes."""
        if classes is None:
            return out
        classes = classes.reshape(-1, 1)
        if self.model_config.mode == ModelMode.binary_classification:
            out = out.reshape(-1, 1)
            return (classes == 1).where(out, 1 - out)
        return out.reshape(classes.shape[0], -1).gather(1, classes)


__all__ = ["METHODS", "CaptumExplainer"]
