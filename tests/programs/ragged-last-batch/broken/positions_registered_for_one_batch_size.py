import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Pos(torch.nn.Module):
    def __init__(self, batch):
        super().__init__()
        self.batch = batch
        self.enc = torch.nn.Linear(6, 6)
        self.register_buffer("pos", torch.randn(batch, 5, 6))

    def forward(self, x):
        return self.enc(x) + self.pos  # <- ragged-last-batch


data = TensorDataset(torch.randn(70, 5, 6))
model = Pos(16)
o = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for (x,) in DataLoader(data, batch_size=16, shuffle=True):
        loss = model(x).pow(2).mean()
        o.zero_grad()
        loss.backward()
        o.step()
