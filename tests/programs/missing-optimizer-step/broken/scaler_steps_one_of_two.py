"""fp16-style loop with GradScaler written by a wrapper; step is called on the scaler for one optimizer only."""
import contextlib

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, x):
        return self.net(x)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, z):
        return self.net(z)


class AmpLoop:
    def __init__(self, encoder, decoder):
        self.enc, self.dec = encoder, decoder
        self.optimizers = {
            "enc": torch.optim.Adam(encoder.parameters(), lr=2e-3),
            "dec": torch.optim.Adam(decoder.parameters(), lr=2e-3),
        }
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    @contextlib.contextmanager
    def update(self):
        for o in self.optimizers.values():
            o.zero_grad()
        yield
        self.scaler.step(self.optimizers["enc"])
        self.scaler.update()

    def train_step(self, x):
        with self.update():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                rec = self.dec(self.enc(x))
                loss = nn.functional.mse_loss(rec.float(), x)
            self.scaler.scale(loss).backward()  # <- missing-optimizer-step
        return loss.item()


torch.manual_seed(0)
basis = torch.randn(4, 16)
loop = AmpLoop(Encoder(), Decoder())
for it in range(80):
    l = loop.train_step(torch.randn(64, 4) @ basis)
    if it % 20 == 0:
        print(it, l)
