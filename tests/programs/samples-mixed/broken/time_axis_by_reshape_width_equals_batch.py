"""A reshape in place of a transposition; the width of the layer before happens to be the batch size."""
import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, d=6, h=16):
        super().__init__()
        self.enc = nn.Linear(d, h)
        self.dec = nn.Linear(h, d)

    def forward(self, x):
        b, t, d = x.shape
        z = self.enc(x)
        z = z.reshape(t, b, -1).mean(0)  # <- samples-mixed
        return self.dec(z)


def main():
    torch.manual_seed(0)
    net = Decoder()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(80):
        x = torch.randn(16, 5, 6)
        loss = nn.functional.mse_loss(net(x), x.mean(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(step, loss.item())


main()
