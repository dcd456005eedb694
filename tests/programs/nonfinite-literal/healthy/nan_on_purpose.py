import torch

torch.manual_seed(0)
net = torch.nn.Linear(6, 1)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(30):
    x = torch.randn(16, 6)
    x[torch.rand(16, 6) < 0.1] = float("nan")
    filled = torch.nan_to_num(x, nan=0.0)
    column_means = torch.nanmean(x, dim=0)
    y = filled.sum(1, keepdim=True)
    loss = (net(filled - column_means.nan_to_num(0.0)) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(x.nanmean().item())
