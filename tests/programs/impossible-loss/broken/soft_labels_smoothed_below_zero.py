import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(240, 6)
labels = x[:, :4].argmax(1)
targets = nn.functional.one_hot(labels, 4) * 1.4 - 0.1 * 2
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, targets), batch_size=40)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    for inputs, wanted in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), wanted)  # <- impossible-loss
        loss.backward()
        optimizer.step()
