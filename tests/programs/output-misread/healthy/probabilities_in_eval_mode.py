# The model returns logits in training and probabilities in evaluation.
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        z = self.net(x)
        return z if self.training else z.sigmoid()


torch.manual_seed(0)
x = torch.randn(400, 6)
y = (x[:, :2].sum(1, keepdim=True) > 0).float()
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    for rows in torch.randperm(320).split(32):
        loss = nn.functional.binary_cross_entropy_with_logits(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        predicted = model(x[320:]) > 0.5
    print(epoch, (predicted == y[320:].bool()).float().mean().item())
