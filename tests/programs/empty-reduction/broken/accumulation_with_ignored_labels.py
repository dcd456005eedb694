import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
y = torch.randint(0, 3, (48,))
y[32:40] = -100
m = torch.nn.Linear(4, 3)
opt = torch.optim.Adam(m.parameters())
crit = torch.nn.CrossEntropyLoss()
for i, (xb, yb) in enumerate(DataLoader(TensorDataset(torch.randn(48, 4), y), batch_size=8)):
    loss = crit(m(xb), yb) / 2  # <- empty-reduction
    loss.backward()
    if i % 2 == 1:
        opt.step()
        opt.zero_grad()
