import os
import tempfile

import torch
import torch.nn as nn


class Classifier(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(10, width), nn.Tanh())
        self.output = nn.Linear(width, 3)

    def forward(self, x):
        return self.output(self.features(x))


def load_pretrained(model, path):
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint, strict=False)  # <- load-without-effect
    return model


torch.manual_seed(1)
path = os.path.join(tempfile.mkdtemp(), "last.pt")
torch.save({"state_dict": Classifier().state_dict(), "best": 0.91}, path)
model = load_pretrained(Classifier(), path)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(25):
    x = torch.randn(32, 10)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
