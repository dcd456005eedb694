import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(128, 5), torch.randn(128, 1))
model = torch.nn.Sequential(
    torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 1)
)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(3):
    for i, (x, y) in enumerate(DataLoader(data, batch_size=8, shuffle=True)):
        (torch.nn.functional.mse_loss(model(x), y) / 4).backward()
        if (i + 1) % 4 == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
    model.eval()
    with torch.no_grad():
        print(torch.nn.functional.mse_loss(model(data.tensors[0]), data.tensors[1]).item())
    model.train()
