import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
images = torch.rand(64, 16)
data = TensorDataset(images, torch.randint(0, 10, (64,)), torch.arange(64))
autoencoder = nn.Sequential(nn.Linear(16, 4), nn.ReLU(), nn.Linear(4, 16))
optimizer = torch.optim.Adam(autoencoder.parameters(), lr=1e-2)
for epoch in range(3):
    for x, _, index in DataLoader(data, batch_size=16, shuffle=True):
        x.requires_grad_(False)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(autoencoder(x), x)
        loss.item()
        loss.backward()
        optimizer.step()
