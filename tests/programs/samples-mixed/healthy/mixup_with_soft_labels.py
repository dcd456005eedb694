import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 3, 8, 8)
y = (x.mean(dim=(1, 2, 3)) > 0).long()
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(288, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for inputs, labels in DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True):
    share = torch.distributions.Beta(0.4, 0.4).sample()
    order = torch.randperm(len(inputs))
    mixed = share * inputs + (1 - share) * inputs[order]
    soft = share * F.one_hot(labels, 2).float() + (1 - share) * F.one_hot(labels[order], 2).float()
    loss = F.cross_entropy(model(mixed), soft)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
