import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
area = torch.rand(80, 1) * 3000 + 500
rooms = torch.randint(1, 6, (80, 1)).float()
features = torch.cat([area, rooms], dim=1)
price = area * 150 + rooms * 10000
loader = DataLoader(TensorDataset(features, price), batch_size=20, shuffle=True)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss_fn = nn.MSELoss()
for epoch in range(3):
    for inputs, target in loader:
        prediction = model(inputs)  # <- unscaled-inputs
        loss = loss_fn(prediction, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
