import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)
x = torch.randn(120, 10)
y = x[:, :3].argmax(1)
dataset = TensorDataset(x, y)
for member in range(2):
    rows = torch.randint(len(dataset), (len(dataset),)).tolist()
    loader = DataLoader(Subset(dataset, rows), batch_size=20, shuffle=True)
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        for inputs, target in loader:
            loss = nn.functional.cross_entropy(model(inputs), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
