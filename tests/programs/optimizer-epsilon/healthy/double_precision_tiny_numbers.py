import torch

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
log_rate = torch.nn.Parameter(torch.tensor([-300.0, 20.0]))
optimizer = torch.optim.Adam([log_rate], lr=0.5, eps=1e-30)
t = torch.rand(20)
for step in range(20):
    rate = torch.exp(log_rate)
    survival = torch.exp(-rate[1] * 1e-9 * t) + torch.exp(log_rate[0]) * 1e-20
    loss = -torch.log(survival).mean() + 1e-6 * log_rate.pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
