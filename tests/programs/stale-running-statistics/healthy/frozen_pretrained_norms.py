import torch
from torch import nn

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x))).mean((2, 3))


backbone, head = Backbone(), nn.Linear(8, 2)
images = 3 + torch.randn(96, 1, 8, 8)
labels = (images.mean((1, 2, 3)) > 3).long()
optimizer = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=1e-2)
for step in range(30):
    loss = nn.functional.cross_entropy(head(backbone(images)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for parameter in backbone.parameters():
    parameter.requires_grad = False
backbone.eval()
tuned = torch.optim.SGD(head.parameters(), lr=0.1)
for step in range(20):
    loss = nn.functional.cross_entropy(head(backbone(images + 5)), labels)
    tuned.zero_grad()
    loss.backward()
    tuned.step()
with torch.no_grad():
    print((head(backbone(images)).argmax(1) == labels).float().mean().item())
