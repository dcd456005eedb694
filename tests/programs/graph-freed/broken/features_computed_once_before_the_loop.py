import torch

torch.manual_seed(0)
enc = torch.nn.Linear(4, 8)
dec = torch.nn.Linear(8, 1)
opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.1)
features = torch.tanh(enc(torch.randn(16, 4)))
best = None
for epoch in range(3):
    loss = dec(features).pow(2).mean()  # <- graph-freed
    opt.zero_grad()
    loss.backward()
    opt.step()
    if best is None or loss < best:
        best = loss
