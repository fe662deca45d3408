"""Networks in plain PyTorch whose sizes, weights or choices are data, or that pick, sort and scatter: what is written for one paper."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from case import Case, family, settle
from plain import rows


def planes(model, sides=(32, 48), batch=(2, 1), channels=3, **more):
    """A network that takes pictures of any size."""
    return Case(
        model.eval(),
        inputs=lambda batch, high, wide: {"x": torch.randn(batch, channels, high, wide)},
        dims={"batch": batch, "high": sides, "wide": sides[::-1]},
        axes={"x": {0: "batch", 2: "high", 3: "wide"}},
        **more,
    )


def series(model, channels, steps=(40, 57), batch=(2, 1), **more):
    """A network that takes channels over a time of any length."""
    return Case(
        model.eval(),
        inputs=lambda batch, time: {"x": torch.randn(batch, channels, time)},
        dims={"batch": batch, "time": steps},
        axes={"x": {0: "batch", 2: "time"}},
        **more,
    )


class Yolo(nn.Module):
    """Split and concatenated bottlenecks, a spatial pyramid of pools, boxes as distributions of distances from anchors that follow from sizes."""

    def __init__(self, width=8, bins=4, classes=3):
        super().__init__()
        block = lambda i, o, k=3, s=1: nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o), nn.SiLU())
        self.stem, self.split, self.inner = block(3, width, 3, 2), block(width, 2 * width, 1), block(width, width)
        self.join, self.down = block(3 * width, width, 1), block(width, width, 3, 2)
        self.pyramid, self.head = block(4 * width, width, 1), nn.Conv2d(width, 4 * bins + classes, 1)
        self.bins, self.classes = bins, classes
        self.register_buffer("steps", torch.arange(bins, dtype=torch.float32))

    def forward(self, x):
        x = self.stem(x)
        parts = list(self.split(x).chunk(2, 1))
        parts.append(self.inner(parts[-1]))
        x = self.down(self.join(torch.cat(parts, 1)))
        pools = [x]
        for _ in range(3):
            pools.append(F.max_pool2d(pools[-1], 5, 1, 2))
        out = self.head(self.pyramid(torch.cat(pools, 1)))
        batch, _, high, wide = out.shape
        box, scores = out.flatten(2).split((4 * self.bins, self.classes), 1)
        box = box.view(batch, 4, self.bins, high * wide).softmax(2).mul(self.steps.view(1, 1, -1, 1)).sum(2)
        ys, xs = torch.meshgrid(torch.arange(high, device=x.device) + 0.5, torch.arange(wide, device=x.device) + 0.5, indexing="ij")
        anchors = torch.stack((xs.flatten(), ys.flatten()))
        near, far = box.chunk(2, 1)
        corners = torch.cat((anchors - near, anchors + far), 1) * 4
        return torch.cat((corners, scores.sigmoid()), 1)


@family("yolo")
def yolo():
    net = Yolo()
    return planes(settle(net, torch.randn(8, 3, 32, 32)))


class Crnn(nn.Module):
    """Lines of text: convolutions, then a recurrent network over columns, then the best path."""

    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d((2, 1)), nn.AdaptiveAvgPool2d((1, None)))
        self.rnn = nn.LSTM(16, 12, bidirectional=True, num_layers=2, batch_first=True)
        self.head = nn.Linear(24, 11)

    def forward(self, x):
        y = self.convs(x).squeeze(2).transpose(1, 2)
        y = self.head(self.rnn(y)[0]).log_softmax(-1)
        best = y.argmax(-1)
        kept = (best != 0) & (best != F.pad(best[:, :-1], (1, 0), value=-1))
        return y, best, kept.sum(1)


@family("crnn")
def crnn():
    return Case(
        Crnn().eval(), inputs=lambda batch, wide: {"x": torch.randn(batch, 1, 16, wide)},
        dims={"batch": (2, 1), "wide": (40, 58)}, axes={"x": {0: "batch", 3: "wide"}},
    )


class Separator(nn.Module):
    """Masks for learned frames of sound: norms over everything, dilated convolutions for each channel, frames that overlap added."""

    def __init__(self, frames=16, width=8, speakers=2):
        super().__init__()
        self.encode = nn.Conv1d(1, frames, 8, 4, bias=False)
        self.inside = nn.Conv1d(frames, width, 1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv1d(width, 2 * width, 1), nn.PReLU(), nn.GroupNorm(1, 2 * width), nn.Conv1d(2 * width, 2 * width, 3, padding=2**i, dilation=2**i, groups=2 * width), nn.PReLU(), nn.Conv1d(2 * width, width, 1))
            for i in range(3)
        )
        self.masks = nn.Conv1d(width, speakers * frames, 1)
        self.decode = nn.ConvTranspose1d(frames, 1, 8, 4, bias=False)
        self.speakers = speakers

    def forward(self, x):
        rest = (-(x.shape[-1] - 8)) % 4
        length = x.shape[-1]
        seen = F.relu(self.encode(F.pad(x, (0, rest))))
        y = self.inside(seen)
        for block in self.blocks:
            y = y + block(y)
        masks = self.masks(y).sigmoid().unflatten(1, (self.speakers, -1))
        heard = masks * seen.unsqueeze(1)
        return self.decode(heard.flatten(0, 1)).unflatten(0, (-1, self.speakers)).squeeze(2)[..., :length]


@family("separator")
def separator():
    return series(Separator(), 1, (64, 101))


class Styled(nn.Module):
    """Convolutions whose weights are made for each picture, and which are groups of one convolution therefore."""

    def __init__(self, width=8, style=6):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width, 3, 3))
        self.style, self.width = nn.Linear(style, width), width
        self.first = nn.Parameter(torch.randn(1, width, 4, 4))
        self.register_buffer("blur", torch.tensor([1.0, 3.0, 3.0, 1.0]).outer(torch.tensor([1.0, 3.0, 3.0, 1.0])) / 64)

    def forward(self, style):
        batch = style.shape[0]
        x = self.first.repeat(batch, 1, 1, 1)
        for _ in range(2):
            w = self.weight[None] * self.style(style)[:, None, :, None, None]
            w = w * torch.rsqrt(w.square().sum((2, 3, 4), keepdim=True) + 1e-8)
            high, wide = x.shape[2:]
            x = x.reshape(1, batch * self.width, high, wide)
            x = F.conv2d(x, w.reshape(batch * self.width, self.width, 3, 3), padding=1, groups=batch).reshape(batch, self.width, high, wide)
            x = F.leaky_relu(F.interpolate(x, scale_factor=2, mode="bilinear"), 0.2) * math.sqrt(2)
            x = F.conv2d(F.pad(x, (1, 2, 1, 2), mode="reflect"), self.blur.expand(self.width, 1, 4, 4), groups=self.width)
        return x


@family("styled_synthesis")
def styled_synthesis():
    # How many groups there are is the batch, and stands in the file.
    return rows(Styled(), (6,), batch=(2, 2), name="style")


class ConvLstm(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.gates, self.width = nn.Conv2d(3 + width, 4 * width, 3, padding=1), width

    def forward(self, x):
        batch, steps, _, high, wide = x.shape
        h = x.new_zeros(batch, self.width, high, wide)
        c = torch.zeros_like(h)
        for t in range(steps):
            i, f, o, g = self.gates(torch.cat((x[:, t], h), 1)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return h, c


@family("convolutional_lstm")
def convolutional_lstm():
    return rows(ConvLstm(), (4, 3, 10, 12))


class Codebooks(nn.Module):
    """Nearest vectors of several books, each of what the one before left."""

    def __init__(self, books=3, size=16, width=8):
        super().__init__()
        self.books = nn.Parameter(torch.randn(books, size, width))
        self.encode, self.decode = nn.Conv1d(4, width, 4, 2, 1), nn.ConvTranspose1d(width, 4, 4, 2, 1)

    def forward(self, x):
        z = self.encode(x).transpose(1, 2)
        total, codes = torch.zeros_like(z), []
        for book in self.books:
            distance = (z - total).square().sum(-1, keepdim=True) - 2 * (z - total) @ book.T + book.square().sum(-1)
            codes.append(distance.argmin(-1))
            total = total + F.embedding(codes[-1], book)
        return self.decode(total.transpose(1, 2)), torch.stack(codes, 1)


@family("codebooks")
def codebooks():
    return series(Codebooks(), 4)


class Experts(nn.Module):
    """Each expert takes its own tokens: how many is data."""

    def __init__(self, width=12, experts=3):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 24), nn.GELU(), nn.Linear(24, width)) for _ in range(experts))

    def forward(self, x):
        flat = x.flatten(0, 1)
        weights, chosen = self.gate(flat).softmax(-1).topk(2, -1)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == i)
            out = out.index_add(0, token, expert(flat[token]) * weights[token, slot, None])
        return out.view_as(x)


@family("experts_by_token")
def experts_by_token():
    return Case(
        Experts().eval(), inputs=lambda batch, seq: {"x": torch.randn(batch, seq, 12)}, dims={"batch": (2, 1, 3), "seq": (5, 8, 3)},
        axes={"x": {0: "batch", 1: "seq"}},
    )


class Farthest(nn.Module):
    """Points far from each other, their neighbours within a ball, and a maximum over each."""

    def __init__(self, picked=6, near=4):
        super().__init__()
        self.picked, self.near = picked, near
        self.mlp = nn.Sequential(nn.Conv2d(3, 16, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 1))

    def forward(self, x):
        batch, count, _ = x.shape
        distance = torch.full((batch, count), 1e10)
        at = torch.zeros(batch, dtype=torch.int64)
        chosen = []
        for _ in range(self.picked):
            chosen.append(at)
            centre = x.gather(1, at.view(batch, 1, 1).expand(-1, -1, 3))
            distance = torch.minimum(distance, (x - centre).square().sum(-1))
            at = distance.argmax(-1)
        picked = torch.stack(chosen, 1)
        centres = x.gather(1, picked.unsqueeze(-1).expand(-1, -1, 3))
        far = (centres.unsqueeze(2) - x.unsqueeze(1)).square().sum(-1)
        index = torch.arange(count).expand(batch, self.picked, -1).clone()
        index[far > 1.5] = count - 1
        near = index.sort(-1).values[:, :, : self.near]
        groups = x.unsqueeze(1).expand(-1, self.picked, -1, -1).gather(2, near.unsqueeze(-1).expand(-1, -1, -1, 3)) - centres.unsqueeze(2)
        return self.mlp(groups.permute(0, 3, 1, 2)).amax(-1), picked


@family("farthest_points")
def farthest_points():
    return rows(Farthest(), (30, 3))


class Beams(nn.Module):
    """A few steps of a search with several beams over a small recurrent network."""

    def __init__(self, words=13, width=10, beams=3, steps=5):
        super().__init__()
        self.embed, self.cell, self.head = nn.Embedding(words, width), nn.GRUCell(width, width), nn.Linear(width, words)
        self.words, self.beams, self.steps = words, beams, steps
        nn.init.normal_(self.head.weight, std=2.0)

    def forward(self, x):
        batch, width = x.shape
        state = x.unsqueeze(1).expand(-1, self.beams, -1)
        scores = torch.tensor([0.0] + [-1e9] * (self.beams - 1)).expand(batch, -1)
        last = torch.ones(batch, self.beams, dtype=torch.int64)
        texts = last.unsqueeze(-1)
        for _ in range(self.steps):
            state = self.cell(self.embed(last).flatten(0, 1), state.flatten(0, 1)).view(batch, self.beams, width)
            step = self.head(state).log_softmax(-1)
            ended = (last == 0).unsqueeze(-1)
            nothing = torch.full((self.words,), -1e9)
            nothing[0] = 0.0
            step = torch.where(ended, nothing, step)
            scores, best = (scores.unsqueeze(-1) + step).flatten(1).topk(self.beams, -1)
            beam, last = torch.div(best, self.words, rounding_mode="floor"), best % self.words
            state = state.gather(1, beam.unsqueeze(-1).expand(-1, -1, width))
            texts = torch.cat((texts.gather(1, beam.unsqueeze(-1).expand_as(texts)), last.unsqueeze(-1)), -1)
        return texts, scores


@family("beam_search")
def beam_search():
    return rows(Beams(), (10,))


class Slots(nn.Module):
    """Slots that compete for places of a picture."""

    def __init__(self, slots=4, width=16):
        super().__init__()
        self.slots = nn.Parameter(torch.randn(1, slots, width))
        self.encode = nn.Conv2d(3, width, 5, 2, 2)
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.gru, self.norm, self.mlp = nn.GRUCell(width, width), nn.LayerNorm(width), nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, width))

    def forward(self, x):
        places = self.norm(self.encode(x).flatten(2).transpose(1, 2))
        k, v = self.k(places), self.v(places)
        slots = self.slots.expand(x.shape[0], -1, -1)
        for _ in range(3):
            weights = torch.einsum("bid,bjd->bij", self.q(self.norm(slots)), k).div(4).softmax(1) + 1e-8
            update = torch.einsum("bjd,bij->bid", v, weights / weights.sum(-1, keepdim=True))
            new = self.gru(update.reshape(-1, update.shape[-1]), slots.reshape(-1, slots.shape[-1])).view_as(slots)
            slots = new + self.mlp(self.norm(new))
        return slots, weights


@family("slot_attention")
def slot_attention():
    return planes(Slots())


class Restorer(nn.Module):
    """Restores pictures of any size: padded to a multiple, gates of halves of channels, norms over channels, pixels shuffled both ways, cut again."""

    def __init__(self, width=8):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.down, self.up = nn.Conv2d(width * 4, 2 * width, 1), nn.Conv2d(2 * width, 4 * width, 1)
        self.expand, self.deep, self.channel, self.back = nn.Conv2d(2 * width, 4 * width, 1), nn.Conv2d(4 * width, 4 * width, 3, padding=1, groups=4 * width), nn.Conv2d(2 * width, 2 * width, 1), nn.Conv2d(2 * width, 2 * width, 1)
        self.weight = nn.Parameter(torch.randn(2 * width))

    def forward(self, x):
        high, wide = x.shape[-2:]
        y = F.pad(x, (0, (4 - wide % 4) % 4, 0, (4 - high % 4) % 4))
        first = self.first(y)
        y = self.down(F.pixel_unshuffle(first, 2))
        mean = y.mean(1, keepdim=True)
        z = (y - mean) / (y - mean).pow(2).mean(1, keepdim=True).add(1e-6).sqrt() * self.weight.view(1, -1, 1, 1)
        a, b = self.deep(self.expand(z)).chunk(2, 1)
        z = a * b
        y = y + self.back(z * self.channel(F.adaptive_avg_pool2d(z, 1)))
        return (self.last(F.pixel_shuffle(self.up(y), 2) + first))[..., :high, :wide] + x


@family("restorer")
def restorer():
    return planes(Restorer(), (30, 41))


class Pieces(nn.Module):
    """Pieces of pictures taken apart and put together, places of maxima, samples of volumes."""

    def forward(self, x):
        high, wide = x.shape[-2:]
        parts = F.unfold(x, 3, padding=1, stride=2)
        whole = F.fold(parts, (high, wide), 3, padding=1, stride=2)
        most, where = F.max_pool2d(x, 2, return_indices=True)
        back = F.max_unpool2d(most, where, 2)
        volume = torch.stack((x, x * 2, x - 1), 2)
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, 5), torch.linspace(-1.2, 0.9, 7), indexing="ij")
        grid = torch.stack((xs, ys, xs * ys), -1)[None, None].expand(x.shape[0], 2, -1, -1, -1)
        sampled = F.grid_sample(volume, grid, mode="bilinear", padding_mode="reflection", align_corners=True)
        larger = F.interpolate(volume, scale_factor=(1.0, 1.5, 2.0), mode="trilinear", align_corners=False)
        smaller = F.interpolate(x, size=(9, 11), mode="bicubic", align_corners=True)
        areas = F.adaptive_avg_pool2d(x, (4, 6)), F.adaptive_max_pool2d(x, (4, 6))
        return whole, back, sampled, larger, smaller, *areas, F.local_response_norm(x, 3), F.lp_pool2d(x.abs(), 2, 3, 2), F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False)


@family("pieces")
def pieces():
    return rows(Pieces(), (3, 12, 18))


class Bags(nn.Module):
    """Sums over bags of rows, crosses of features, and a tower of experts with gates."""

    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(20 + i, 6, mode=m) for i, m in enumerate(("sum", "mean", "max")))
        self.low = nn.Linear(4, 6)
        self.cross = nn.Linear(24, 24)
        self.out = nn.Linear(24 + 6, 1)

    def forward(self, dense, ids):
        found = [bag(ids[:, 4 * i : 4 * i + 4]) for i, bag in enumerate(self.bags)] + [self.low(dense)]
        stacked = torch.stack(found, 1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        i, j = torch.tril_indices(4, 4, -1)
        pairs = products[:, i, j]
        x = torch.cat(found, 1)
        x = x * self.cross(x) + x
        return self.out(torch.cat((x, pairs), 1)).sigmoid()


@family("bags_of_rows")
def bags_of_rows():
    return Case(
        Bags().eval(), inputs=lambda batch: {"dense": torch.randn(batch, 4), "ids": torch.randint(0, 20, (batch, 12))},
        dims={"batch": (3, 1, 5)}, axes={"dense": {0: "batch"}, "ids": {0: "batch"}},
    )


class Matching(nn.Module):
    """Matches of two sets of points by transport, with a bin for those that have none; which match is data."""

    def forward(self, a, b):
        scores = torch.einsum("bdn,bdm->bnm", a, b) / 4
        bins = torch.full_like(scores[:, :1], 0.3)
        scores = torch.cat((scores, bins), 1)
        scores = torch.cat((scores, torch.full_like(scores[:, :, :1], 0.3)), 2)
        u, v = torch.zeros_like(scores[:, :, 0]), torch.zeros_like(scores[:, 0])
        for _ in range(5):
            u = -torch.logsumexp(scores + v.unsqueeze(1), 2)
            v = -torch.logsumexp(scores + u.unsqueeze(2), 1)
        plan = scores + u.unsqueeze(2) + v.unsqueeze(1)
        inner = plan[:, :-1, :-1]
        best, there = inner.max(2)
        back = inner.max(1).indices
        mutual = torch.arange(there.shape[1]) == back.gather(1, there)
        return plan, torch.where(mutual & (best.exp() > 0.05), there, -1), torch.where(mutual, best.exp(), 0.0)


@family("matching")
def matching():
    return Case(
        Matching(), inputs=lambda batch, n, m: {"a": torch.randn(batch, 8, n), "b": torch.randn(batch, 8, m)},
        dims={"batch": (2, 1), "n": (7, 10), "m": (9, 6)}, axes={"a": {0: "batch", 2: "n"}, "b": {0: "batch", 2: "m"}},
    )


class Relative(nn.Module):
    """Attention with buckets of distances, rotated keys, groups of heads, a window, and a gate for each head."""

    def __init__(self, width=32, heads=4, shared=2):
        super().__init__()
        self.q, self.kv, self.out = nn.Linear(width, width), nn.Linear(width, 2 * shared * (width // heads)), nn.Linear(width, width)
        self.bias, self.heads, self.shared = nn.Embedding(8, heads), heads, shared
        self.gate = nn.Linear(width, heads)

    def forward(self, x):
        batch, seq, width = x.shape
        size = width // self.heads
        q = self.q(x).view(batch, seq, self.heads, size).transpose(1, 2)
        k, v = self.kv(x).view(batch, seq, 2, self.shared, size).permute(2, 0, 3, 1, 4).unbind(0)
        at = torch.arange(seq)
        turn = at[:, None] / 100 ** (torch.arange(0, size, 2) / size)
        def rotated(t):
            a, b = t[..., ::2], t[..., 1::2]
            return torch.stack((a * turn.cos() - b * turn.sin(), a * turn.sin() + b * turn.cos()), -1).flatten(-2)
        q, k = rotated(q), rotated(k).repeat_interleave(self.heads // self.shared, 1)
        v = v.repeat_interleave(self.heads // self.shared, 1)
        apart = (at[:, None] - at[None, :]).abs()
        bucket = torch.where(apart < 4, apart, (4 + torch.log2(apart.clamp(min=1).float() / 4) * 2).long().clamp(max=7))
        bias = self.bias(bucket).permute(2, 0, 1).masked_fill(apart > 9, float("-inf"))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias[None])
        y = y * self.gate(x).sigmoid().transpose(1, 2).unsqueeze(-1)
        return self.out(y.transpose(1, 2).reshape(batch, seq, width))


@family("relative_attention")
def relative_attention():
    return Case(
        Relative().eval(), inputs=lambda batch, seq: {"x": torch.randn(batch, seq, 32)}, dims={"batch": (2, 1, 3), "seq": (12, 7, 20)},
        axes={"x": {0: "batch", 1: "seq"}},
    )


class Filter(nn.Module):
    """A filter of states with gains from a solved system, by the adjugate of a small matrix."""

    def __init__(self):
        super().__init__()
        self.move = nn.Parameter(torch.eye(2) + 0.1 * torch.randn(2, 2))
        self.noise = nn.Parameter(torch.rand(2) + 0.5)

    def forward(self, x):
        state = x.new_zeros(x.shape[0], 2, 1)
        spread = torch.eye(2).expand(x.shape[0], 2, 2)
        seen = []
        for t in range(x.shape[1]):
            state = self.move @ state
            spread = self.move @ spread @ self.move.T + torch.diag(self.noise)
            s = spread + 0.3 * torch.eye(2)
            a, b, c, d = s[:, 0, 0], s[:, 0, 1], s[:, 1, 0], s[:, 1, 1]
            inverse = torch.stack((torch.stack((d, -b), -1), torch.stack((-c, a), -1)), 1) / (a * d - b * c)[:, None, None]
            gain = spread @ inverse
            state = state + gain @ (x[:, t].unsqueeze(-1) - state)
            spread = (torch.eye(2) - gain) @ spread
            seen.append(state.squeeze(-1))
        return torch.stack(seen, 1), spread


@family("state_filter")
def state_filter():
    return rows(Filter(), (6, 2))
