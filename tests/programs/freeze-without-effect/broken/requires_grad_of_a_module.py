import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4))
        self.outc = nn.Linear(128, 4)

    def forward(self, images):
        return self.outc(self.features(images).flatten(1))


def make_batch(generator):
    labels = torch.randint(0, 4, (32,), generator=generator)
    images = torch.randn(32, 1, 8, 8, generator=generator) * 0.3
    for i, label in enumerate(labels.tolist()):
        images[i, :, 4 * (label // 2):4 * (label // 2) + 4, 4 * (label % 2):4 * (label % 2) + 4] += 1
    return images, labels


def adapt(model, steps=150):
    pretrain = torch.optim.Adam(model.parameters(), lr=1e-2)
    source = torch.Generator().manual_seed(7)
    for _ in range(60):
        images, labels = make_batch(source)
        loss = F.cross_entropy(model(images), labels)
        pretrain.zero_grad()
        loss.backward()
        pretrain.step()
    model.outc.requires_grad = False  # <- freeze-without-effect
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    generator = torch.Generator().manual_seed(1)
    for step in range(steps):
        images, labels = make_batch(generator)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, loss.item())


if __name__ == "__main__":
    torch.manual_seed(0)
    adapt(Net())
