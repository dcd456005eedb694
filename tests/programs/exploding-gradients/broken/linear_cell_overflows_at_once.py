import torch
from torch import nn


class LinearRNN(nn.Module):
    def __init__(self, n_in=4, n_hidden=32):
        super().__init__()
        self.Wx = nn.Linear(n_in, n_hidden)
        self.Wh = nn.Linear(n_hidden, n_hidden, bias=False)
        nn.init.normal_(self.Wh.weight, std=0.4)
        self.head = nn.Linear(n_hidden, 1)

    def forward(self, seq):
        h = torch.zeros(seq.size(0), 32)
        for t in range(seq.size(1)):
            h = self.Wx(seq[:, t]) + self.Wh(h)  # <- exploding-gradients
        return self.head(h)


torch.manual_seed(0)
x = torch.randn(128, 50, 4)
y = x.mean(dim=(1, 2)).unsqueeze(1)
net = LinearRNN()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
for it in range(40):
    optimizer.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    print(it, loss.item())
