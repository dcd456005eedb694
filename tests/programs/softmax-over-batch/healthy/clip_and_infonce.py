import torch
import torch.nn.functional as F
from torch import nn


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = nn.Linear(12, 8), nn.Linear(6, 8)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, images, texts):
        a = F.normalize(self.image(images), dim=-1)
        b = F.normalize(self.text(texts), dim=-1)
        return self.scale.exp() * a @ b.t()


torch.manual_seed(0)
model = Clip()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    images = torch.randn(16, 12)
    texts = images[:, :6] + 0.1 * torch.randn(16, 6)
    logits = model(images, texts)
    labels = torch.arange(16)
    both = F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)
    rows, columns = F.log_softmax(logits, dim=1), F.log_softmax(logits, dim=0)
    loss = both / 2 - 0.1 * (rows.diag().mean() + columns.diag().mean())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
