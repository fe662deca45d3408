"""Trains the classifier of this folder, and writes digits.onnx and the sample images.

Needs torch, scikit-learn (for the 1,797 digits of 8 by 8 that it bundles), onnx and Pillow:

    python train.py
"""

import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from sklearn.datasets import load_digits

SIDE = 32
HERE = pathlib.Path(__file__).parent


class Digits(torch.nn.Module):
    """An image in 0 to 1, ink dark or light, to ten probabilities and the digit."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(1, 16, 3, padding=1)
        self.second = torch.nn.Conv2d(16, 32, 3, padding=1)
        self.third = torch.nn.Conv2d(32, 64, 3, padding=1)
        self.hidden = torch.nn.Linear(64 * 4, 64)
        self.last = torch.nn.Linear(64, 10)

    def logits(self, image):
        # Paper takes more of an image than ink: light paper is turned dark.
        mean = image.mean(dim=(1, 2, 3), keepdim=True)
        x = torch.where(mean > 0.5, 1 - image, image)
        x = F.avg_pool2d(x, 2)
        x = F.max_pool2d(F.relu(self.first(x)), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2)
        x = F.max_pool2d(F.relu(self.third(x)), 2)
        return self.last(F.relu(self.hidden(x.flatten(1))))

    def forward(self, image):
        logits = self.logits(image)
        return logits.softmax(1), logits.argmax(1)


def disturbed(images):
    """Turned, sheared, scaled and moved a little, with more or less ink, on dark or light paper."""
    n = len(images)
    angle = torch.empty(n).uniform_(-0.25, 0.25)
    shear = torch.empty(n).uniform_(-0.2, 0.2)
    scale = torch.empty(n, 2).uniform_(0.85, 1.5)
    cos, sin = angle.cos(), angle.sin()
    turn = torch.stack([
        torch.stack([cos * scale[:, 0], -sin * scale[:, 1] + shear, torch.empty(n).uniform_(-0.2, 0.2)], 1),
        torch.stack([sin * scale[:, 0], cos * scale[:, 1], torch.empty(n).uniform_(-0.2, 0.2)], 1),
    ], 1)
    grid = F.affine_grid(turn, images.shape, align_corners=False)
    x = F.grid_sample(images, grid, align_corners=False)
    x = (x * torch.empty(n, 1, 1, 1).uniform_(0.8, 1.6)).clamp(0, 1) ** torch.empty(n, 1, 1, 1).uniform_(0.6, 1.5)
    x = (x + 0.03 * torch.randn_like(x)).clamp(0, 1)
    light = torch.rand(n, 1, 1, 1) < 0.5
    return torch.where(light, 1 - x, x)


def main():
    torch.manual_seed(1)
    digits = load_digits()
    images = torch.tensor(digits.images / 16.0, dtype=torch.float32)[:, None]
    labels = torch.tensor(digits.target)
    large = F.interpolate(images, size=(SIDE, SIDE), mode="bicubic", align_corners=False).clamp(0, 1)
    order = torch.randperm(len(large))
    test, train = order[:297], order[297:]
    model = Digits()
    epochs, batch = 60, 64
    steps = epochs * math.ceil(len(train) / batch)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, total_steps=steps)
    for _ in range(epochs):
        model.train()
        for part in train[torch.randperm(len(train))].split(batch):
            loss = F.cross_entropy(model.logits(disturbed(large[part])), labels[part])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    model.eval()
    with torch.no_grad():
        right = (model(large[test])[1] == labels[test]).float().mean().item()
        turned = (model(disturbed(large[test]))[1] == labels[test]).float().mean().item()
    print(f"right on {len(test)} images not trained on: {right:.1%}; disturbed: {turned:.1%}")
    names = dict(input_names=["image"], output_names=["probabilities", "digit"])
    torch.onnx.export(model, (large[:1],), HERE / "digits.onnx", opset_version=18, dynamo=False,
                      dynamic_axes={name: {0: "batch"} for name in ["image", "probabilities", "digit"]}, **names)
    # One sample of each digit that was not trained on, as dark ink on light paper.
    for digit in range(10):
        index = next(i for i in test.tolist() if labels[i] == digit)
        shown = F.interpolate(images[index][None], size=(96, 96), mode="bicubic", align_corners=False)
        pixels = (255 * (1 - shown[0, 0].clamp(0, 1))).round().numpy().astype(np.uint8)
        Image.fromarray(pixels).save(HERE / f"{digit}.png", optimize=True)


if __name__ == "__main__":
    main()
