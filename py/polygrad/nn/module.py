"""Module: `model(x)` calls `forward(x)`, and what a model consists of is found by name. Plain objects with tensors as attributes work as well;
a Module adds PyTorch's methods. Subclasses need not call `super().__init__()`."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

from ..autograd import current
from ..dtypes import dtypes
from ..tensor import Tensor
from .held import held
from .state import get_state_dict, load_into, match


class Listed(list):
    """A list that next() takes as well, because PyTorch has generators in its place."""

    __slots__ = ("_at",)

    def __next__(self) -> Any:
        self._at = getattr(self, "_at", -1) + 1
        if self._at >= len(self):
            raise StopIteration
        return self[self._at]


class IncompatibleKeys(NamedTuple):
    """What load_state_dict(strict=False) could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class RemovableHandle:
    """Takes a hook away again: handle.remove(), or the end of a `with` block."""

    _next = itertools.count()

    def __init__(self, hooks: dict[int, Any]):
        self.hooks, self.id = hooks, next(self._next)

    def remove(self) -> None:
        self.hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


class _ParameterType(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and bool(getattr(x, "_param", False))


class Parameter(metaclass=_ParameterType):
    """Parameter(data, requires_grad=True) is a tensor that belongs to a module: a leaf with data's values.

    >>> from polygrad import Tensor, nn
    >>> w = nn.Parameter(Tensor([1.0, 2.0]))
    >>> w.requires_grad, isinstance(w, nn.Parameter), isinstance(Tensor([1.0]), nn.Parameter)
    (True, True, False)
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        t = Tensor.zeros(0) if data is None else data if isinstance(data, Tensor) else Tensor(data)
        if t._g.tracing:
            raise RuntimeError("a Parameter cannot be made inside a compiled step")
        t = t.detach().contiguous().realize()
        t.requires_grad = requires_grad
        t._param = True
        return t


@contextlib.contextmanager
def in_mode(module: Module) -> Iterator[None]:
    """Inside, Tensor.training is the module's own mode."""
    before, Tensor.training = Tensor.training, module.training
    try:
        yield
    finally:
        Tensor.training = before


@contextlib.contextmanager
def evaluation(model: Any) -> Iterator[None]:
    """Inside, a model and all modules in it are in evaluation mode; then each is in its mode of before."""
    own = [m.__dict__ for m in model.modules() if "_mode" in m.__dict__] if isinstance(model, Module) else []
    modes, before = [d["_mode"] for d in own], Tensor.training
    Tensor.training = False
    try:
        for d in own:
            d["_mode"] = False
        yield
    finally:
        Tensor.training = before
        for d, mode in zip(own, modes):
            d["_mode"] = mode


def is_parameter(t: Tensor) -> bool:
    """Is it a leaf that was made to require a gradient at some time?"""
    return bool(getattr(t, "_param", False))


_EMPTY: set[type] = set()  # classes of attributes in which there is no module
_KINDS: dict[type, str] = {}  # of the classes of attributes, what can be in them: "nothing", a "module" itself, or "several" modules


def _kind_of(cls: type) -> str:
    kind = "module" if issubclass(cls, Module) else "several" if issubclass(cls, (list, tuple, dict)) else "nothing"
    if len(_KINDS) < 1024:  # classes that a program makes again and again do not gather here
        _KINDS[cls] = kind
        if kind == "nothing":
            _EMPTY.add(cls)
    return kind


def _within(value: Any, name: str, wanted: type) -> Iterator[tuple[str, Any]]:
    """The tensors, or the modules, that value is or holds in lists and dicts, by dotted name; those of modules inside belong to them."""
    if isinstance(value, wanted):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for k, v in enumerate(value):
            yield from _within(v, f"{name}.{k}", wanted)
    elif isinstance(value, dict):
        for key, v in value.items():
            yield from _within(v, f"{name}.{key}", wanted)
    elif wanted is Tensor and not isinstance(value, (Module, type)) and hasattr(value, "__dict__") and not callable(value):
        yield from get_state_dict(value, name + ".").items()


class Module:
    """Base of models and layers.

    >>> from polygrad import Tensor, nn
    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         self.l1 = nn.Linear(2, 3)
    ...     def forward(self, x):
    ...         return self.l1(x).relu()
    >>> Net()(Tensor.ones(1, 2)).shape, sorted(Net().state_dict())
    ((1, 3), ['l1.bias', 'l1.weight'])
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        d = self.__dict__
        mode = d.get("_mode")
        if mode is not None and mode != current().training:
            with in_mode(self):
                return self(*args, **kwargs)
        if "_forward_pre_hooks" in d or "_forward_hooks" in d:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # ---- what it holds ----

    _parameters, _buffers, _modules = held("parameters"), held("buffers"), held("modules")

    # Does the text of a class of the user's own end with the number of its parameters?
    _shows_count = True

    # Are plain tensors, and what lists and dicts hold, part of a module's state? In tinygrad all of it is; in PyTorch parameters, buffers that were
    # registered, and modules are.
    _every_tensor = True

    def _state_items(self) -> dict[str, Any]:
        """What the state dict walks over, parameters first, then other tensors; attributes whose names begin with an underscore are the module's own
        business, unless they were registered."""
        d = self.__dict__
        named, unsaved = d.get("_registered", ()), d.get("_unsaved", set()) | d.get("_hidden", set())
        own = {n: v for n, v in d.items() if (not n.startswith("_") or n in named) and n not in unsaved}
        if not self._every_tensor:
            own = {n: v for n, v in own.items() if isinstance(v, (Module, Parameter)) or n in named}
        tensors = {n: v for n, v in own.items() if isinstance(v, Tensor)}
        buffers = d.get("_buffer_names", ())
        parameters = {n: v for n, v in tensors.items() if is_parameter(v) and n not in buffers}
        return {**parameters, **tensors, **own}

    def _items(self) -> dict[str, Any]:
        """What the module holds, with buffers that are not saved."""
        return {**self._state_items(), **{n: self.__dict__[n] for n in self.__dict__.get("_unsaved", ())}}

    def _own(self, parameters: bool) -> Iterator[tuple[str, Tensor]]:
        """Parameters, or buffers, that no module inside holds."""
        buffers = self.__dict__.get("_buffer_names", ())
        for name, value in self._items().items():
            for full, t in _within(value, name, Tensor):
                if (is_parameter(t) and name not in buffers) == parameters:
                    yield full, t

    def named_children(self) -> Listed:
        """The modules that it holds itself, by name."""
        found, seen = Listed(), set()
        for name, value in self._items().items():
            for full, m in _within(value, name, Module):
                if id(m) not in seen:
                    seen.add(id(m))
                    found.append((full, m))
        return found

    def children(self) -> Listed:
        """The modules that it holds itself."""
        return Listed(m for _, m in self.named_children())

    def _counts(self, name: str) -> bool:
        """Is an attribute of this name among what the module holds?"""
        d = self.__dict__
        return name in d.get("_unsaved", ()) or not (name in d.get("_hidden", ()) or name[:1] == "_" and name not in d.get("_registered", ()))

    def _inside(self) -> list[Any]:
        """children(), without names."""
        d = self.__dict__
        plain = type(self)._state_items is Module._state_items  # others, such as containers, keep what they hold elsewhere
        if plain and _EMPTY.issuperset(map(type, d.values())):
            return []
        found: dict[int, Any] = {}
        for name, value in (d if plain else self._items()).items():
            kind = _KINDS.get(value.__class__)
            if kind == "nothing":
                continue
            if kind is None:
                kind = _kind_of(value.__class__)
            if plain and (name[:1] == "_" or "_hidden" in d) and not self._counts(name):
                continue
            if kind == "module":
                found.setdefault(id(value), value)
            elif self._every_tensor:
                for _, m in _within(value, name, Module):
                    found.setdefault(id(m), m)
        return list(found.values())

    def named_modules(self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True) -> Listed:
        """This module and all inside, by dotted name.

        >>> from polygrad import nn
        >>> [name for name, _ in nn.Sequential(nn.Sequential(nn.ReLU()), nn.Tanh()).named_modules()]
        ['', '0', '0.0', '1']
        """
        memo = set() if memo is None else memo
        if id(self) in memo:
            return Listed()
        if remove_duplicate:
            memo.add(id(self))
        out = Listed([(prefix, self)])
        for name, value in self._items().items():
            for full, m in _within(value, name, Module):
                out += m.named_modules(memo, f"{prefix}.{full}" if prefix else full, remove_duplicate)
        return out

    def modules(self) -> Listed:
        """This module and all inside, each once."""
        return Listed(m for _, m in self.named_modules())

    def _named(self, parameters: bool, prefix: str, recurse: bool, remove_duplicate: bool) -> Listed:
        out, seen = Listed(), set()
        for at, m in self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]:
            for name, t in m._own(parameters):
                if not (remove_duplicate and id(t) in seen):
                    seen.add(id(t))
                    out.append((f"{at}.{name}" if at else name, t))
        return out

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Listed:
        """The parameters by dotted name, with those whose requires_grad was turned off."""
        return self._named(True, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Listed:
        """The parameters, each once: the tensors that were made to require a gradient.

        >>> from polygrad import nn
        >>> [tuple(p.shape) for p in nn.Linear(2, 3).parameters()]
        [(3, 2), (3,)]
        """
        return Listed(t for _, t in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Listed:
        """The tensors that are not parameters, by dotted name."""
        return self._named(False, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Listed:
        """The tensors that are not parameters."""
        return Listed(t for _, t in self.named_buffers(recurse=recurse))

    def _lookup(self, target: str, kind: str) -> Any:
        at: Any = self
        for name in target.split(".") if target else ():
            items = at._items() if isinstance(at, Module) else at if isinstance(at, dict) else {str(k): v for k, v in enumerate(at)}
            if name not in items and not hasattr(at, name):
                raise AttributeError(f"{type(at).__name__} has no attribute `{name}`")
            at = items[name] if name in items else getattr(at, name)
        wanted = Module if kind == "a Module" else Tensor
        if not isinstance(at, wanted):
            raise AttributeError(f"`{target}` is not {kind}")
        return at

    def get_submodule(self, target: str) -> Module:
        """The module under a dotted name."""
        return self._lookup(target, "a Module")

    def get_parameter(self, target: str) -> Tensor:
        """The parameter under a dotted name."""
        return self._lookup(target, "a Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer under a dotted name."""
        return self._lookup(target, "a buffer")

    # ---- putting things in ----

    def _check_name(self, what: str, name: Any) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__.get("_registered", ()):
            raise KeyError(f"attribute '{name}' already exists")

    def _register(self, name: str, value: Any) -> None:
        self.__dict__.setdefault("_registered", set()).add(name)
        setattr(self, name, value)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """A tensor that is state but no parameter; the state dict has it if it is persistent."""
        self._check_name("buffer", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (Tensor or None required)")
        if tensor is not None and not tensor.requires_grad:
            tensor.requires_grad = False  # an optimizer passes it by
        self._register(name, tensor)
        self.__dict__.setdefault("_buffer_names", set()).add(name)
        self.__dict__.setdefault("_unsaved", set()).discard(name)
        if not persistent:
            self.__dict__["_unsaved"].add(name)

    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """A parameter under a name."""
        self._check_name("parameter", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{type(param).__name__}' object to parameter '{name}' (Parameter or None required)")
        self._register(name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """A module under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name("module", name)
        self._register(name, module)

    register_module = add_module

    # ---- hooks ----

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Calls hook(module, args) before forward; what it returns, if not None, takes the place of args."""
        return self._add_hook("_forward_pre_hooks", (hook, with_kwargs, False), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Calls hook(module, args, output) after forward; what it returns, if not None, takes the place of the output.

        >>> from polygrad import Tensor, nn
        >>> m = nn.ReLU()
        >>> handle = m.register_forward_hook(lambda module, args, output: output + 1)
        >>> m(Tensor([-1.0])).tolist()
        [1.0]
        >>> handle.remove(); m(Tensor([-1.0])).tolist()
        [0.0]
        """
        return self._add_hook("_forward_hooks", (hook, with_kwargs, always_call), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls hook(module, grad_input, grad_output) when gradients pass through the module, with tuples that have None for what has no gradient.
        What it returns, if not None, takes the place of grad_input, where one input alone has a gradient.

        >>> from polygrad import Tensor, nn
        >>> m, seen, x = nn.ReLU(), [], Tensor([2.0], requires_grad=True)
        >>> handle = m.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append(grad_output[0].tolist()))
        >>> _ = (m(x) * 3).sum().backward(); seen
        [[3.0]]
        """
        self.__dict__.setdefault("_forward_hooks", {})
        return self._add_hook("_backward_hooks", hook, prepend)

    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls hook(module, grad_output) before gradients pass through the module; what it returns, if not None, takes the place of grad_output."""
        self.__dict__.setdefault("_forward_hooks", {})
        return self._add_hook("_backward_pre_hooks", hook, prepend)

    def _add_hook(self, where: str, entry: Any, prepend: bool) -> RemovableHandle:
        hooks = self.__dict__.setdefault(where, {})
        handle = RemovableHandle(hooks)
        others = list(hooks.items()) if prepend else []
        if prepend:
            hooks.clear()
        hooks[handle.id] = entry
        hooks.update(others)
        return handle

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for hook, with_kwargs, _ in list(self.__dict__.get("_forward_pre_hooks", {}).values()):
            result = hook(self, args, kwargs) if with_kwargs else hook(self, args)
            if result is None:
                continue
            if with_kwargs:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {result}.")
                args, kwargs = result
            else:
                args = result if isinstance(result, tuple) else (result,)
        after = list(self.__dict__.get("_forward_hooks", {}).values())
        watch = None
        if self.__dict__.get("_backward_hooks") or self.__dict__.get("_backward_pre_hooks"):
            from .watch import Watch

            watch = Watch(self)
            args = watch.inputs(args)
        try:
            out = self.forward(*args, **kwargs)
        except BaseException:
            for hook, with_kwargs, always in after:
                if always:
                    hook(self, args, kwargs, None) if with_kwargs else hook(self, args, None)
            raise
        for hook, with_kwargs, _ in after:
            result = hook(self, args, kwargs, out) if with_kwargs else hook(self, args, out)
            out = out if result is None else result
        return out if watch is None else watch.outputs(out)

    # ---- state ----

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
        """All tensors but buffers that are not persistent, by dotted name."""
        own = get_state_dict(self, prefix)
        if destination is None:
            return own
        destination.update(own)
        return destination

    def load_state_dict(self, state_dict: dict[str, Tensor], strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Takes over tensors by name. strict: names that are missing or unexpected are an error.

        >>> from polygrad import nn
        >>> nn.Linear(2, 3).load_state_dict(nn.Linear(2, 3).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, dict) and not hasattr(state_dict, "keys"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        own, missing, unexpected = match(self, state_dict)
        errors = []
        if strict and missing:
            errors.append("Missing key(s) in state_dict: " + ", ".join(f'"{n}"' for n in missing) + ". ")
        if strict and unexpected:
            errors.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{n}"' for n in unexpected) + ". ")
        for name, t in own.items():
            if name in state_dict and tuple(state_dict[name].shape) != tuple(t.shape):
                there, here = (f"torch.Size({list(x.shape)})" for x in (state_dict[name], t))
                errors.append(f"size mismatch for {name}: copying a param with shape {there} from checkpoint, the shape in current model is {here}.")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        load_into(own, state_dict)
        return IncompatibleKeys(missing, unexpected)

    def train(self, mode: bool = True) -> Any:
        """Sets Tensor.training. A module of polygrad.torch has a mode of its own, which this sets for it and all modules inside."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        Tensor.training = mode
        self._set_mode(mode)
        return self

    def _set_mode(self, mode: bool) -> None:
        """The modes of modules of polygrad.torch, of this one and of those inside, each by its own train() if its class has one."""
        d = self.__dict__
        if "_mode" not in d:
            return
        d["_mode"] = mode
        for m in self._inside():
            if type(m).train is Module.train:
                m._set_mode(mode)
            else:
                m.train(mode)

    def eval(self) -> Any:
        """train(False)."""
        return self.train(False)

    @property
    def training(self) -> bool:
        """What train() and eval() set: Tensor.training, or the mode of a module of polygrad.torch."""
        return bool(self.__dict__.get("_mode", Tensor.training))

    @training.setter
    def training(self, on: bool) -> None:
        if "_mode" in self.__dict__:
            self.__dict__["_mode"] = bool(on)
        else:
            Tensor.training = bool(on)

    # ---- changing everything ----

    def apply(self, fn: Callable[[Module], Any]) -> Any:
        """Calls fn with every module inside, innermost first, and with this one."""
        for m in self.children():
            m.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, device: Any = None, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        """Moves the state to a device, or casts what is floating point of it to a dtype, or makes both like a tensor."""
        for a in args:
            if isinstance(a, Tensor):
                device, dtype = a.device, a.dtype
            elif not isinstance(a, bool) and a is not None:
                device, dtype = (device, a) if _is_dtype(a) else (a, dtype)
        for _, t in [*self.named_parameters(), *self.named_buffers()]:
            moved = t if device is None else t.to(device)
            moved = moved if dtype is None or not t.is_floating_point() else moved.cast(dtype)
            if moved is not t and moved.dtype != t.dtype:
                t.replace(moved.detach().realize())
        return self

    def cpu(self) -> Any:
        """The module on the host."""
        return self.to("CPU")

    def cuda(self, device: Any = None) -> Any:
        """The module on a GPU."""
        return self.to("CUDA")

    def float(self) -> Any:
        """Floating point state as float32."""
        return self.to(dtypes.float32)

    def double(self) -> Any:
        """Floating point state as float64."""
        return self.to(dtypes.float64)

    def half(self) -> Any:
        """Floating point state as float16."""
        return self.to(dtypes.float16)

    def bfloat16(self) -> Any:
        """Floating point state as bfloat16."""
        return self.to(dtypes.bfloat16)

    def type(self, dst_type: Any) -> Any:
        """Floating point state in a dtype."""
        return self.to(dtype=dst_type)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Turns the gradients of all parameters on or off."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients, or zeroes them."""
        for t in self.parameters():
            t.grad = None if set_to_none or t.grad is None else t.grad.zeros_like()

    def share_memory(self) -> Any:
        """The module; its memory is that of its process."""
        return self

    # ---- text ----

    def extra_repr(self) -> str:
        """What __repr__ shows between the parentheses."""
        return ""

    def _get_name(self) -> str:
        """The name of its class."""
        return type(self).__name__

    def _lines(self) -> list[str]:
        """What is printed of the modules inside."""
        return [f"({child}): {_indented(repr(m))}" for child, m in self.named_children()]

    def __repr__(self) -> str:
        """PyTorch's form; a class of the user's own ends with the number of its parameters."""
        extra, name = self.extra_repr(), type(self).__name__
        owner = next(c for c in type(self).__mro__ if "extra_repr" in c.__dict__)
        if any(c.__module__.startswith("polygrad.geometric") for c in (owner, type(self))):  # PyG's layers show themselves in one line
            return f"{name}({extra})"
        lines = self._lines()
        if not lines:
            text = f"{name}({extra})" if "\n" not in extra else f"{name}(\n  {_indented(extra)}\n)"
        else:
            text = f"{name}(\n  " + "\n  ".join([*(extra.split("\n") if extra else ()), *lines]) + "\n)"
        if type(self).__module__.startswith("polygrad.") or not self._shows_count:
            return text
        count = sum(p.numel() for p in self.parameters())
        return f"{text}  # {count:,} parameters" if count else text


def named_arguments(module: Any, names: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a constructor by name, out of those by position and by name."""
    what = type(module).__name__
    if len(args) > len(names):
        raise TypeError(f"{what} takes {len(names)} arguments at most, got {len(args)}")
    given = dict(zip(names, args))
    for name, value in kwargs.items():
        if name in given:
            raise TypeError(f"{what}: {name} was given twice")
        if name not in names:
            raise TypeError(f"{what}: {name} is not one of its arguments: {', '.join(names) or 'it has none'}")
        given[name] = value
    return given


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _is_dtype(x: Any) -> bool:
    from ..dtypes import DType

    return isinstance(x, DType) or (isinstance(x, str) and x.lower() in dtypes.__dict__) or hasattr(x, "newbyteorder") or x in (float, int, bool)
