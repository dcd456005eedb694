import torch

torch.manual_seed(0)
m = torch.nn.Linear(4, 2)
opt = torch.optim.Adam(m.parameters(), 1e-2)
for step in range(10):
    x = torch.randn(6, 4)
    labels = torch.randint(0, 2, (6,)) if step != 7 else torch.zeros(6, dtype=torch.long)
    z = m(x)
    pos = z[labels == 1]
    neg = z[labels == 0]
    margin = pos.mean(0) - neg.mean(0)  # <- empty-reduction
    loss = torch.relu(1 - margin).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
