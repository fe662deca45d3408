"""Networks of science and engineering in plain PyTorch: graphs, operators on functions, flows, splines, states, diffusion, control."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from case import Case, family
from plain import rows


class GraphAttention(nn.Module):
    """Attention over the edges of a graph: a softmax over the edges that end at the same node, by scatters."""

    def __init__(self, width=16, heads=2):
        super().__init__()
        self.project, self.score, self.heads = nn.Linear(8, width * heads), nn.Linear(2 * width, 1), heads
        self.out = nn.Linear(width * heads, 4)

    def forward(self, nodes, source, target):
        x = self.project(nodes).view(nodes.shape[0], self.heads, -1)
        e = F.leaky_relu(self.score(torch.cat([x[source], x[target]], -1))).squeeze(-1)
        index = target[:, None].expand(-1, self.heads)
        top = torch.full((nodes.shape[0], self.heads), -1e9).scatter_reduce(0, index, e, "amax")
        e = torch.exp(e - top[target])
        total = torch.zeros(nodes.shape[0], self.heads).scatter_add(0, index, e)
        weight = e / (total[target] + 1e-9)
        sums = torch.zeros_like(x).scatter_add(0, target[:, None, None].expand(-1, *x.shape[1:]), x[source] * weight[..., None])
        return self.out(sums.flatten(1))


@family("graph_attention")
def graph_attention():
    return Case(
        GraphAttention().eval(),
        inputs=lambda nodes, edges: {"nodes": torch.randn(nodes, 8), "source": torch.randint(0, nodes, (edges,)), "target": torch.randint(0, nodes, (edges,))},
        dims={"nodes": (9, 5), "edges": (20, 13)},
        axes={"nodes": {0: "nodes"}, "source": {0: "edges"}, "target": {0: "edges"}},
    )


class FourierOperator(nn.Module):
    """A Fourier neural operator: weights for the low frequencies, in real arithmetic."""

    def __init__(self, width=8, modes=4):
        super().__init__()
        self.lift, self.skip, self.drop, self.modes = nn.Conv1d(2, width, 1), nn.Conv1d(width, width, 1), nn.Conv1d(width, 1, 1), modes
        self.real, self.imaginary = (nn.Parameter(torch.randn(width, width, modes) / width) for _ in range(2))

    def forward(self, x):
        x = self.lift(x)
        f = torch.view_as_real(torch.fft.rfft(x))[:, :, : self.modes]
        a, b = f[..., 0], f[..., 1]
        product = lambda u, w: torch.einsum("bim,iom->bom", u, w)
        re, im = product(a, self.real) - product(b, self.imaginary), product(a, self.imaginary) + product(b, self.real)
        n = x.shape[-1]
        angle = 2 * math.pi * torch.arange(n)[None, :] * torch.arange(self.modes)[:, None] / n
        scale = torch.ones(self.modes, 1) * 2 / n
        scale[0] = 1 / n
        y = torch.einsum("bom,mn->bon", re, torch.cos(angle) * scale) - torch.einsum("bom,mn->bon", im, torch.sin(angle) * scale)
        return self.drop(F.gelu(y + self.skip(x)))


family("fourier_operator")(lambda: rows(FourierOperator(), (2, 32)))


class Splines(nn.Module):
    """A Kolmogorov-Arnold layer: B-splines by the recurrence over their degree."""

    def __init__(self, inner=6, outer=5, grid=5, degree=3):
        super().__init__()
        self.degree = degree
        self.register_buffer("knots", torch.linspace(-2, 2, grid + 2 * degree + 1))
        self.weight, self.base = nn.Parameter(torch.randn(outer, inner, grid + degree) * 0.3), nn.Linear(inner, outer)

    def forward(self, x):
        t, u = self.knots, x.unsqueeze(-1)
        basis = ((u >= t[:-1]) & (u < t[1:])).to(x.dtype)
        for k in range(1, self.degree + 1):
            left = (u - t[: -(k + 1)]) / (t[k:-1] - t[: -(k + 1)]) * basis[..., :-1]
            right = (t[k + 1 :] - u) / (t[k + 1 :] - t[1:-k]) * basis[..., 1:]
            basis = left + right
        return self.base(F.silu(x)) + torch.einsum("big,oig->bo", basis, self.weight)


family("splines")(lambda: rows(nn.Sequential(Splines(), Splines(5, 3)), (6,), name="input"))


class Coupling(nn.Module):
    """A normalising flow: affine couplings with permutations between them, forward and its logarithm of the volume."""

    def __init__(self, width=8, steps=4):
        super().__init__()
        net = lambda: nn.Sequential(nn.Linear(width // 2, 16), nn.Tanh(), nn.Linear(16, width))
        self.nets = nn.ModuleList(net() for _ in range(steps))
        self.register_buffer("order", torch.stack([torch.randperm(width) for _ in range(steps)]))

    def forward(self, x):
        volume = x.new_zeros(x.shape[0])
        for net, order in zip(self.nets, self.order):
            a, b = x[:, order].chunk(2, 1)
            scale, shift = net(a).chunk(2, 1)
            scale = torch.tanh(scale)
            x, volume = torch.cat([a, b * torch.exp(scale) + shift], 1), volume + scale.sum(1)
        return x, volume


family("flow")(lambda: rows(Coupling(), (8,)))


class DiffusionTransformer(nn.Module):
    """A block of a diffusion transformer: patches of a noisy picture, normalised as the time and a class say."""

    def __init__(self, width=32, heads=2):
        super().__init__()
        self.patch, self.label = nn.Conv2d(4, width, 2, stride=2), nn.Embedding(10, width)
        self.time = nn.Sequential(nn.Linear(16, width), nn.SiLU(), nn.Linear(width, width))
        self.modulate = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))
        self.norm, self.attention = nn.LayerNorm(width, elementwise_affine=False), nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp, self.last = nn.Sequential(nn.Linear(width, 64), nn.GELU("tanh"), nn.Linear(64, width)), nn.Linear(width, 16)
        self.place = nn.Parameter(torch.randn(1, 16, width))

    def forward(self, x, t, label):
        batch = x.shape[0]
        x = self.patch(x).flatten(2).transpose(1, 2) + self.place
        rate = torch.exp(-math.log(10000) * torch.arange(8) / 8)
        angle = t[:, None].float() * rate
        c = self.time(torch.cat([angle.cos(), angle.sin()], -1)) + self.label(label)
        a, b, g, d, e, h = self.modulate(c)[:, None].chunk(6, -1)
        y = self.norm(x) * (1 + a) + b
        x = x + g * self.attention(y, y, y, need_weights=False)[0]
        x = x + h * self.mlp(self.norm(x) * (1 + d) + e)
        return F.pixel_shuffle(self.last(x).transpose(1, 2).reshape(batch, 16, 4, 4), 2)


@family("diffusion_transformer")
def diffusion_transformer():
    return Case(
        DiffusionTransformer().eval(),
        inputs=lambda batch: {"x": torch.randn(batch, 4, 8, 8), "t": torch.randint(0, 1000, (batch,)), "label": torch.randint(0, 10, (batch,))},
        dims={"batch": (2, 1, 3)},
        axes={n: {0: "batch"} for n in ("x", "t", "label")},
    )


class Latents(nn.Module):
    """The decoder of a latent diffusion model, with attention in the middle, and a quantised codebook before it."""

    def __init__(self, width=16):
        super().__init__()
        block = lambda: nn.Sequential(nn.GroupNorm(4, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1))
        self.codes = nn.Embedding(32, 4)
        self.first, self.a, self.b, self.qkv = nn.Conv2d(4, width, 3, padding=1), block(), block(), nn.Conv2d(width, 3 * width, 1)
        self.norm, self.last = nn.GroupNorm(4, width), nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, 4)
        nearest = (flat[:, None] - self.codes.weight).square().sum(-1).argmin(1)
        z = self.codes(nearest).view(z.shape[0], z.shape[2], z.shape[3], 4).permute(0, 3, 1, 2)
        x = self.first(z)
        x = x + self.a(x)
        q, k, v = self.qkv(self.norm(x)).flatten(2).chunk(3, 1)
        x = x + F.scaled_dot_product_attention(*(v.transpose(1, 2)[:, None] for v in (q, k, v)))[:, 0].transpose(1, 2).reshape(x.shape)
        x = F.interpolate(x, scale_factor=2.0, mode="nearest")
        return torch.clamp(self.last(x + self.b(x)), -1, 1)


family("latent_decoder")(lambda: rows(Latents(), (4, 6, 6), name="z"))


class StateSpace(nn.Module):
    """A diagonal state-space layer as a long convolution: its kernel is a sum of exponentials, applied by a Fourier transform."""

    def __init__(self, width=6, states=8):
        super().__init__()
        self.decay, self.turn = nn.Parameter(torch.rand(width, states)), nn.Parameter(torch.rand(width, states) * 3)
        self.weight, self.through = nn.Parameter(torch.randn(width, states)), nn.Parameter(torch.randn(width))

    def forward(self, x):
        n = x.shape[-1]
        t = torch.arange(n)
        kernel = (self.weight[..., None] * torch.exp(-F.softplus(self.decay)[..., None] * t) * torch.cos(self.turn[..., None] * t)).sum(1)
        lag = t[:, None] - t[None, :]
        matrix = torch.where(lag >= 0, kernel[:, lag.clamp(min=0)], torch.zeros(()))
        return torch.einsum("dts,bds->bdt", matrix, x) + self.through[:, None] * x


@family("state_space")
def state_space():
    return Case(
        StateSpace().eval(), inputs=lambda batch, time: {"x": torch.randn(batch, 6, time)}, dims={"batch": (2, 1), "time": (20, 33)},
        axes={"x": {0: "batch", 2: "time"}},
    )


class Pendulum(nn.Module):
    """A neural differential equation: four steps of Runge and Kutta's method, each with four calls of a small network."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Softplus(), nn.Linear(16, 3))

    def forward(self, x, h):
        slope = lambda t, x: self.net(torch.cat([x, t.expand(x.shape[0], 1)], 1))
        states, t = [x], torch.zeros(1)
        for _ in range(4):
            a = slope(t, x)
            b = slope(t + h / 2, x + h / 2 * a)
            c = slope(t + h / 2, x + h / 2 * b)
            d = slope(t + h, x + h * c)
            x, t = x + h / 6 * (a + 2 * b + 2 * c + d), t + h
            states.append(x)
        return torch.stack(states, 1)


@family("differential_equation")
def differential_equation():
    return Case(
        Pendulum().eval(), inputs=lambda batch: {"x": torch.randn(batch, 3), "h": torch.tensor([0.1])}, dims={"batch": (2, 1, 5)}, axes={"x": {0: "batch"}}
    )


class PointNet(nn.Module):
    """Points of a cloud: neighbours by distance, features of edges, the greatest over neighbours and points."""

    def __init__(self):
        super().__init__()
        self.edge, self.head = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16)), nn.Linear(16, 5)

    def forward(self, points):
        near = torch.cdist(points, points).topk(4, largest=False).indices
        batch = torch.arange(points.shape[0])[:, None, None]
        around = points[batch, near]
        edges = torch.cat([around - points[:, :, None], points[:, :, None].expand_as(around)], -1)
        return self.head(self.edge(edges).amax(2).amax(1))


@family("point_cloud")
def point_cloud():
    return Case(
        PointNet().eval(), inputs=lambda batch, points: {"points": torch.randn(batch, points, 3)}, dims={"batch": (2, 1), "points": (12, 9)},
        axes={"points": {0: "batch", 1: "points"}},
    )


class Capsules(nn.Module):
    """Capsules that agree by routing, three rounds of it."""

    def __init__(self, inner=12, outer=4, size=6):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, inner, outer, size, 5) * 0.3)

    def forward(self, x):
        votes = (self.weight @ x[:, :, None, :, None]).squeeze(-1)
        logits = x.new_zeros(*votes.shape[:3])
        for _ in range(3):
            s = (logits.softmax(2).unsqueeze(-1) * votes).sum(1)
            square = s.square().sum(-1, keepdim=True)
            v = square / (1 + square) * s / torch.sqrt(square + 1e-8)
            logits = logits + (votes * v[:, None]).sum(-1)
        return v


family("capsules")(lambda: rows(Capsules(), (12, 5)))


class Forecast(nn.Module):
    """Blocks that explain a series and pass on what they could not explain, with trends and seasons as bases."""

    def __init__(self, past=20, future=5):
        super().__init__()
        self.nets = nn.ModuleList(nn.Sequential(nn.Linear(past, 32), nn.ReLU(), nn.Linear(32, 6)) for _ in range(3))
        t = torch.arange(past + future) / past
        self.register_buffer("basis", torch.stack([torch.ones_like(t), t, t**2, torch.cos(6.28 * t), torch.sin(6.28 * t), torch.cos(12.57 * t)]))
        self.past = past

    def forward(self, x):
        centre, spread = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-5
        x, total = (x - centre) / spread, 0
        for net in self.nets:
            y = net(x) @ self.basis
            x, total = x - y[:, : self.past], total + y[:, self.past :]
        return total * spread + centre


family("forecast")(lambda: rows(Forecast(), (20,)))


class Spikes(nn.Module):
    """Neurons that leak, fire at a threshold and are reset, over the steps of a series."""

    def __init__(self, width=10):
        super().__init__()
        self.inner, self.outer = nn.Linear(6, width), nn.Linear(width, 3)

    def forward(self, x):
        v, total = x.new_zeros(x.shape[0], 10), 0
        for t in range(x.shape[1]):
            v = 0.9 * v + self.inner(x[:, t])
            spike = (v > 0.5).to(x.dtype)
            v = v * (1 - spike)
            total = total + self.outer(spike)
        return total


family("spikes")(lambda: rows(Spikes(), (8, 6)))


class Rotations(nn.Module):
    """Orientations from six numbers, their products, distances and angles: what models of molecules and bodies compute."""

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(7, 6)

    def forward(self, x):
        a, b = self.net(x).chunk(2, -1)
        u = F.normalize(a, dim=-1)
        v = F.normalize(b - (u * b).sum(-1, keepdim=True) * u, dim=-1)
        w = torch.linalg.cross(u, v)
        r = torch.stack([u, v, w], -1)
        relative = r.transpose(-1, -2)[:, None] @ r[None]
        trace = relative.diagonal(dim1=-2, dim2=-1).sum(-1)
        return r, torch.acos(((trace - 1) / 2).clamp(-0.999, 0.999)), torch.atan2(u[:, 1], u[:, 0])


family("rotations")(lambda: rows(Rotations(), (7,)))


class Beams(nn.Module):
    """The greedy part of a decoder in the file: a loop that feeds each step's choice back, and what remains after a stop."""

    def __init__(self, words=20, width=16):
        super().__init__()
        self.embed, self.cell, self.out = nn.Embedding(words, width), nn.GRUCell(width, width), nn.Linear(width, words)

    def forward(self, state):
        word, done, said = torch.zeros(state.shape[0], dtype=torch.int64), torch.zeros(state.shape[0], dtype=torch.bool), []
        for _ in range(6):
            state = self.cell(self.embed(word), state)
            word = torch.where(done, torch.zeros_like(word), self.out(state).argmax(-1))
            done = done | (word == 3)
            said.append(word)
        return torch.stack(said, 1), state


family("greedy_decoder")(lambda: rows(Beams(), (16,), name="state"))


class Tables(nn.Module):
    """Columns of a table: numbers by quantiles, categories by hashes, bags of several, and an oblivious tree that is soft."""

    def __init__(self):
        super().__init__()
        self.register_buffer("edges", torch.linspace(-2, 2, 9))
        self.bins, self.bag, self.split = nn.Embedding(10, 8), nn.EmbeddingBag(50, 8, mode="mean"), nn.Linear(16, 3)
        self.leaves = nn.Parameter(torch.randn(8, 4))

    def forward(self, numbers, tags):
        a = self.bins(torch.bucketize(numbers, self.edges)).mean(1)
        b = self.bag(tags * 31 % 50)
        p = torch.sigmoid(self.split(torch.cat([a, b], 1)))
        both = torch.stack([p, 1 - p], -1)
        leaf = torch.einsum("bi,bj,bk->bijk", both[:, 0], both[:, 1], both[:, 2]).flatten(1)
        return leaf @ self.leaves


@family("soft_trees")
def soft_trees():
    return Case(
        Tables().eval(), inputs=lambda batch: {"numbers": torch.randn(batch, 5), "tags": torch.randint(0, 1000, (batch, 3))}, dims={"batch": (4, 1)},
        axes={"numbers": {0: "batch"}, "tags": {0: "batch"}},
    )
