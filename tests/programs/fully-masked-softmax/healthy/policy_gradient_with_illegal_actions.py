import torch

torch.manual_seed(0)
m = torch.nn.Linear(3, 4)
opt = torch.optim.Adam(m.parameters())
best = float("inf")
scores = []
for step in range(5):
    logits = m(torch.randn(4, 3))
    logits = logits.masked_fill(torch.tensor([0, 0, 1, 0]).bool(), -torch.inf)
    p = torch.distributions.Categorical(logits=logits)
    a = p.sample()
    loss = -(p.log_prob(a) * torch.randn(4)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    best = min(best, loss.item())
    scores.append(torch.tensor([]).mean().item())
