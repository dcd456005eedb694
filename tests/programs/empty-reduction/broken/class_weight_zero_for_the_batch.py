import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 6)
y = torch.randint(1, 4, (64,))
y[40:48] = 0  # one whole batch of background
loader = DataLoader(TensorDataset(x, y), batch_size=8)
background_off = torch.tensor([0.0, 1.0, 1.0, 1.0])
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(2):
    for features, label in loader:
        logits = model(features)
        loss = nn.functional.cross_entropy(logits, label, weight=background_off)  # <- empty-reduction
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
