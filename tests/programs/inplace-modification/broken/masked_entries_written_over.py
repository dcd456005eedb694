import torch

torch.manual_seed(0)


class Enc(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(6, 6)

    def forward(self, x, mask):
        h = torch.exp(self.lin(x))
        h[mask] = 0  # <- inplace-modification
        return h / h.sum(1, keepdim=True)


enc = Enc()
o = torch.optim.Adam(enc.parameters())
for step in range(3):
    x = torch.randn(4, 6)
    p = enc(x, x < -1)
    loss = (p * x).sum()
    o.zero_grad()
    loss.backward()
    o.step()
