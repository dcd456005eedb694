"""Its model runs another module before `nn.Module.__init__`."""

import torch
from torch import nn
import witness

witness.seed()


class Centred(nn.Module):
    def __init__(self, inputs, scale):
        self.width = inputs.shape[1]
        with torch.no_grad():
            mean = scale(inputs).mean(0)
        super().__init__()
        self.scale = scale
        self.register_buffer("mean", mean)
        self.head = nn.Linear(self.width, 1)

    def forward(self, inputs):
        return self.head(self.scale(inputs) - self.mean)


inputs = torch.randn(64, 4)
targets = inputs.sum(1, keepdim=True)
model = Centred(inputs, nn.Tanh())
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(30):
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    witness.swear("loss", loss)
witness.swear("model", model)
witness.testify()
