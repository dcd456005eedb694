import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.rand(96, 4) + 0.1
x[77, 1] = 0.0
loader = DataLoader(TensorDataset(x, torch.randn(96, 1)), batch_size=4)
model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
scale = nn.Parameter(torch.ones(4))
optimizer = torch.optim.AdamW([*model.parameters(), scale], lr=1e-3)
for index, (features, target) in enumerate(loader):
    z = features * scale
    roots = torch.where(z > 0, torch.sqrt(z), torch.zeros_like(z))  # <- masked-branch-gradient
    loss = nn.functional.mse_loss(model(roots), target) / 4
    loss.backward()
    if (index + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
