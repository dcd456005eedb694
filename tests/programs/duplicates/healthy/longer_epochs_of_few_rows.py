import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(40, 3)
y = x.pow(2).sum(1, keepdim=True)
train_set = TensorDataset(x.repeat(6, 1), y.repeat(6, 1))
model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for inputs, target in DataLoader(train_set, batch_size=40, shuffle=True):
        noisy = inputs + 0.05 * torch.randn_like(inputs)
        loss = nn.functional.mse_loss(model(noisy), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
