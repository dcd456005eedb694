import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(3200, 8)
Y = X.sum(1, keepdim=True) + 0.1 * torch.randn(3200, 1)
loader = DataLoader(TensorDataset(X, Y), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=1000)
for epoch in range(10):
    model.train()
    for a, b in loader:
        opt.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(model(a), b)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        sched.step()
    model.eval()
    with torch.no_grad():
        print(epoch, nn.functional.mse_loss(model(X), Y).item())
