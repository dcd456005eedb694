# A pretrained two-layer LSTM whose lower layer is held fixed by gradient hooks; the last layer's state is used.
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 16, num_layers=2, batch_first=True)
        self.out = nn.Linear(16, 2)
    def forward(self, x):
        _, (h, _) = self.rnn(x)
        return self.out(h[-1])
model = Net()
for name, p in model.rnn.named_parameters():
    if name.endswith("_l0"):
        p.register_hook(torch.zeros_like)      # keep the pretrained lower layer
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(80):
    x = torch.randn(32, 8, 4)
    loss = nn.functional.cross_entropy(model(x), (x[:, -1, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
