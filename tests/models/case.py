"""What a family of models is to the runner: a small network with random weights, inputs by size, and which sizes stay open."""

import itertools
from dataclasses import dataclass, field

import torch
from torch import nn

FAMILIES = {}


@dataclass
class Case:
    """A network and what it is run with.

    `inputs` makes the inputs for sizes given by name. `dims` has the sizes that stay open: the first of each is what the model is
    exported with, the others are run too. `axes` says where these sizes stand in the inputs. `pick` takes the outputs that are
    compared out of what the network returns; by default all tensors, in order.
    """

    model: nn.Module
    inputs: object
    dims: dict = field(default_factory=dict)
    axes: dict = field(default_factory=dict)
    pick: object = None
    rtol: float = 1e-3
    atol: float = 1e-4

    def open_axes(self, name):
        """The axes of an input whose sizes stay open, with what the sizes are; a dim of one size is not open."""
        moves = lambda d: len(set(self.dims[d if isinstance(d, str) else d[0]])) > 1
        return {axis: d for axis, d in self.axes.get(name, {}).items() if moves(d)}

    def sizes(self):
        """The sizes of each run, those of the export first."""
        if not self.dims:
            return [{}]
        rows = itertools.zip_longest(*self.dims.values())
        first = [v[0] for v in self.dims.values()]
        return [
            {name: f if v is None else v for name, v, f in zip(self.dims, row, first)} for row in rows
        ]


def family(name, listed=False):
    """Registers a function that makes a case. `listed` marks the families that must be there."""

    def register(make):
        FAMILIES[name] = (make, listed)
        return make

    return register


def tensors(value):
    """All tensors in nested tuples, lists and dictionaries, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for v in value.values() for t in tensors(v)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors(v)]
    return []


class Flat(nn.Module):
    """A network that takes tensors by position and returns a tuple of tensors."""

    def __init__(self, case, names):
        super().__init__()
        self.model, self.names, self.pick = case.model, names, case.pick

    def forward(self, *args):
        out = self.model(**dict(zip(self.names, args)))
        return tuple(tensors(self.pick(out) if self.pick else out))


def settle(model, *inputs, rounds=3):
    """Gives batch norms the statistics of random data, so that values neither vanish nor explode in deep random networks."""
    model.train()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.momentum = None
        for _ in range(rounds):
            model(*[torch.randn_like(x) for x in inputs])
    return model.eval()
