"""Networks written in plain PyTorch: what people write themselves, with the operators that libraries of models use little."""

import torch
from torch import nn
from torch.nn import functional as F
from torchvision.ops import DeformConv2d

from case import Case, family, settle


def rows(model, shape, batch=(2, 1, 3), name="x", make=torch.randn, **more):
    """A network whose only input is of that shape behind a batch."""
    return Case(
        model.eval(), inputs=lambda batch: {name: make(batch, *shape)}, dims={"batch": batch}, axes={name: {0: "batch"}}, **more
    )


class WaveNet(nn.Module):
    """Dilated causal convolutions with gates, and connections past each to the end."""

    def __init__(self, width=16):
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        self.gates = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=2**i) for i in range(4))
        self.skips = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(4))
        self.last = nn.Conv1d(width, 8, 1)

    def forward(self, x):
        x, total = self.first(x), 0
        for i, (gate, skip) in enumerate(zip(self.gates, self.skips)):
            a, b = gate(F.pad(x, (2**i, 0))).chunk(2, 1)
            y = skip(torch.tanh(a) * torch.sigmoid(b))
            x, total = x + y, total + y
        return self.last(F.relu(total))


@family("wavenet")
def wavenet():
    return Case(
        WaveNet().eval(),
        inputs=lambda batch, time: {"x": torch.randn(batch, 1, time)},
        dims={"batch": (2, 1, 3), "time": (40, 33, 64)},
        axes={"x": {0: "batch", 2: "time"}},
    )


class UNet3d(nn.Module):
    def __init__(self):
        super().__init__()
        double = lambda i, o: nn.Sequential(
            nn.Conv3d(i, o, 3, padding=1), nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU(0.1), nn.Conv3d(o, o, 3, padding=1), nn.GroupNorm(2, o), nn.ELU()
        )
        self.a, self.b, self.c = double(1, 8), double(8, 16), double(24, 8)
        self.up, self.head = nn.ConvTranspose3d(16, 16, 2, stride=2), nn.Conv3d(8, 2, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool3d(a, 2))
        return self.head(self.c(torch.cat([a, self.up(b)], 1)))


family("unet_3d")(lambda: rows(UNet3d(), (1, 8, 8, 8)))


class Generator(nn.Module):
    """A picture from noise, by transposed convolutions."""

    def __init__(self):
        super().__init__()
        up = lambda i, o: nn.Sequential(nn.ConvTranspose2d(i, o, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())
        self.first = nn.Sequential(nn.ConvTranspose2d(16, 32, 4, bias=False), nn.BatchNorm2d(32), nn.ReLU())
        self.ups = nn.Sequential(up(32, 16), up(16, 8))
        self.last = nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1)

    def forward(self, x):
        return torch.tanh(self.last(self.ups(self.first(x[:, :, None, None]))))


family("dcgan")(lambda: rows(settle(Generator(), torch.randn(8, 16)), (16,)))


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 5, padding=2), nn.PReLU(16), nn.Conv2d(16, 16, 3, padding=1, padding_mode="reflect"), nn.PReLU())
        self.up = nn.Sequential(nn.Conv2d(16, 12, 3, padding=1, padding_mode="replicate"), nn.PixelShuffle(2))

    def forward(self, x):
        bigger = F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
        return (bigger + self.up(self.body(x))).clamp(0, 1)


@family("super_resolution")
def super_resolution():
    return Case(
        SuperResolution().eval(),
        inputs=lambda batch, height, width: {"x": torch.rand(batch, 3, height, width)},
        dims={"batch": (2, 1, 3), "height": (16, 11, 20), "width": (16, 13, 9)},
        axes={"x": {0: "batch", 2: "height", 3: "width"}},
    )


class Autoencoder(nn.Module):
    """A variational one, without the noise: mean, spread and what is made of them."""

    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.SiLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.SiLU(), nn.Flatten())
        self.mean, self.spread = nn.Linear(784, 8), nn.Linear(784, 8)
        self.dec = nn.Sequential(nn.Linear(8, 784), nn.Unflatten(1, (16, 7, 7)), nn.Upsample(scale_factor=2), nn.Conv2d(16, 8, 3, padding=1), nn.GELU(), nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(8, 1, 3, padding=1))

    def forward(self, x):
        h = self.enc(x)
        mean, spread = self.mean(h), self.spread(h)
        return torch.sigmoid(self.dec(mean)), 0.5 * (mean**2 + spread.exp() - 1 - spread).sum(1)


family("autoencoder")(lambda: rows(Autoencoder(), (1, 28, 28)))


class RadianceField(nn.Module):
    """Rays through a field: frequencies of positions, a small network, and the sum along the ray."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(39, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        waves = x[..., None] * 2.0 ** torch.arange(6, dtype=x.dtype)
        seen = torch.cat([x, waves.sin().flatten(-2), waves.cos().flatten(-2)], -1)
        rgb, density = self.net(seen).split([3, 1], -1)
        alpha = 1 - torch.exp(-F.softplus(density[..., 0]) * 0.1)
        left = torch.exp(torch.cumsum(torch.log(1 - alpha + 1e-10), -1))
        weights = alpha * torch.cat([torch.ones_like(left[:, :1]), left[:, :-1]], -1)
        return (weights[..., None] * rgb.sigmoid()).sum(1), weights.sum(1)


family("radiance_field")(lambda: rows(RadianceField(), (16, 3)))


class GraphNetwork(nn.Module):
    """Messages along the edges of a graph, summed and averaged where they arrive."""

    def __init__(self):
        super().__init__()
        self.messages = nn.ModuleList(nn.Linear(2 * 8, 8) for _ in range(2))
        self.head = nn.Linear(8, 3)

    def forward(self, x, edges):
        start, end = edges[0], edges[1]
        for layer in self.messages:
            said = F.relu(layer(torch.cat([x[start], x[end]], -1)))
            summed = torch.zeros_like(x).index_add(0, end, said)
            count = torch.zeros(x.shape[0], dtype=x.dtype).index_add(0, end, torch.ones_like(said[:, 0]))
            x = x + summed / count.clamp(min=1)[:, None]
        return F.log_softmax(self.head(x), -1)


@family("graph_network")
def graph_network():
    return Case(
        GraphNetwork().eval(),
        inputs=lambda nodes, edges: {"x": torch.randn(nodes, 8), "edges": torch.randint(0, nodes, (2, edges))},
        dims={"nodes": (10, 7, 20), "edges": (24, 15, 60)},
        axes={"x": {0: "nodes"}, "edges": {1: "edges"}},
    )


class Deformable(nn.Module):
    def __init__(self):
        super().__init__()
        self.offset, self.mask = nn.Conv2d(4, 18, 3, padding=1), nn.Conv2d(4, 9, 3, padding=1)
        self.conv = DeformConv2d(4, 8, 3, padding=1)

    def forward(self, x):
        return self.conv(x, self.offset(x), torch.sigmoid(self.mask(x)))


family("deformable_convolution")(lambda: rows(Deformable(), (4, 12, 12)))


class Warp(nn.Module):
    """A spatial transformer: finds how to turn a picture, and turns it."""

    def __init__(self):
        super().__init__()
        self.find = nn.Sequential(nn.Conv2d(1, 4, 7), nn.MaxPool2d(2), nn.ReLU(), nn.AvgPool2d(3, 4), nn.Flatten(), nn.Linear(36, 6))
        self.read = nn.Sequential(nn.Conv2d(1, 4, 3), nn.MaxPool2d(3, 5), nn.Flatten(), nn.Linear(64, 10))

    def forward(self, x):
        theta = torch.tensor([[1.0, 0, 0], [0, 1, 0]]) + 0.2 * self.find(x).view(-1, 2, 3)
        grid = F.affine_grid(theta, [x.shape[0], 1, 20, 20], align_corners=False)
        return self.read(F.grid_sample(x, grid, align_corners=False))


family("spatial_transformer")(lambda: rows(Warp(), (1, 28, 28)))


class Spectrogram(nn.Module):
    """Sound by its spectrum: short transforms, loudness by bands, and a network over them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.register_buffer("bands", torch.rand(33, 12) / 33)
        self.net = nn.Sequential(nn.Conv1d(12, 16, 3, padding=1), nn.Hardswish(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 4))

    def forward(self, x):
        spectrum = torch.stft(x, 64, 32, window=self.window, return_complex=False, center=False, onesided=True)
        power = spectrum.pow(2).sum(-1).transpose(1, 2)
        return self.net((power @ self.bands).clamp(min=1e-5).log10().transpose(1, 2))


family("spectrogram")(lambda: rows(Spectrogram(), (512,)))


class Conformer(nn.Module):
    """Feed-forward, attention, convolution, feed-forward, each added to what came."""

    def __init__(self, width=16):
        super().__init__()
        feed = lambda: nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))
        self.before, self.after = feed(), feed()
        self.attend = nn.MultiheadAttention(width, 2, batch_first=True)
        self.widen, self.depth = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 7, padding=3, groups=width)
        self.norm, self.narrow, self.last = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1), nn.LayerNorm(width)

    def forward(self, x):
        x = x + 0.5 * self.before(x)
        x = x + self.attend(x, x, x, need_weights=False)[0]
        y = F.glu(self.widen(x.transpose(1, 2)), 1)
        x = x + self.narrow(F.silu(self.norm(self.depth(y)))).transpose(1, 2)
        return self.last(x + 0.5 * self.after(x))


@family("conformer_block")
def conformer_block():
    return Case(
        Conformer().eval(),
        inputs=lambda batch, time: {"x": torch.randn(batch, time, 16)},
        dims={"batch": (2, 1, 3), "time": (20, 13, 31)},
        axes={"x": {0: "batch", 1: "time"}},
    )


class Mixer(nn.Module):
    """Mixes along places and along channels by turns."""

    def __init__(self, places=16, width=16):
        super().__init__()
        self.patch, self.norm = nn.Conv2d(3, width, 8, 8), nn.LayerNorm(width)
        net = lambda n: nn.Sequential(nn.Linear(n, 2 * n), nn.GELU(), nn.Linear(2 * n, n))
        self.places, self.channels = nn.ModuleList(net(places) for _ in range(2)), nn.ModuleList(net(width) for _ in range(2))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        for a, b in zip(self.places, self.channels):
            x = x + a(self.norm(x).transpose(1, 2)).transpose(1, 2)
            x = x + b(self.norm(x))
        return self.head(x.mean(1))


family("mlp_mixer")(lambda: rows(Mixer(), (3, 32, 32)))


class Recommender(nn.Module):
    """Categories as vectors, their products with each other, and numbers beside them."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(20, 8, mode="sum") for _ in range(3))
        self.bottom, self.top = nn.Linear(5, 8), nn.Sequential(nn.Linear(14, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, numbers, words):
        x = F.relu(self.bottom(numbers))
        parts = torch.stack([x, *[t(words[:, i]) for i, t in enumerate(self.tables)]], 1)
        products = parts @ parts.transpose(1, 2)
        row, column = torch.tril_indices(4, 4, -1)
        return torch.sigmoid(self.top(torch.cat([x, products[:, row, column]], 1)))


@family("recommender")
def recommender():
    return Case(
        Recommender().eval(),
        inputs=lambda batch: {"numbers": torch.randn(batch, 5), "words": torch.randint(0, 20, (batch, 3, 4))},
        dims={"batch": (2, 1, 5)},
        axes={"numbers": {0: "batch"}, "words": {0: "batch"}},
    )


class Greedy(nn.Module):
    """A loop whose length the input says, and a branch in it."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 8)

    def forward(self, x):
        h, out = torch.zeros_like(x[:, 0]), []
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
            out.append(torch.where(h.abs() > 0.3, h, h * 2))
        return torch.stack(out, 1).sort(-1, descending=True)[0], h.topk(3, -1)[1]


family("recurrent_steps")(lambda: rows(Greedy(), (6, 8)))


class Diffusion(nn.Module):
    """One step of a denoiser: a small network of pictures that is told the time and reads a text."""

    def __init__(self, width=16):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, width), nn.SiLU(), nn.Linear(width, width))
        self.first, self.norm = nn.Conv2d(4, width, 3, padding=1), nn.GroupNorm(4, width)
        self.conv, self.down = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, 2, 1)
        self.read = nn.MultiheadAttention(width, 2, kdim=12, vdim=12, batch_first=True)
        self.last = nn.Conv2d(2 * width, 4, 3, padding=1)

    def forward(self, x, t, text):
        rates = torch.exp(-9.21 * torch.arange(8) / 8)
        waves = t[:, None].float() * rates
        t = self.time(torch.cat([waves.cos(), waves.sin()], 1))
        x = self.first(x)
        x = x + self.conv(F.silu(self.norm(x) + t[:, :, None, None]))
        y = self.down(x)
        b, c, h, w = y.shape
        flat = y.flatten(2).transpose(1, 2)
        y = (flat + self.read(flat, text, text, need_weights=False)[0]).transpose(1, 2).reshape(b, c, h, w)
        return self.last(torch.cat([x, F.interpolate(y, scale_factor=2.0, mode="nearest")], 1))


@family("diffusion_step")
def diffusion_step():
    return Case(
        Diffusion().eval(),
        inputs=lambda batch, seq: {"x": torch.randn(batch, 4, 16, 16), "t": torch.randint(0, 1000, (batch,)), "text": torch.randn(batch, seq, 12)},
        dims={"batch": (2, 1, 3), "seq": (7, 5, 9)},
        axes={"x": {0: "batch"}, "t": {0: "batch"}, "text": {0: "batch", 1: "seq"}},
    )
