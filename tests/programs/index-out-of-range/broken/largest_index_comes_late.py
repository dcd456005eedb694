import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
tokens = torch.randint(1, 60, (400, 12))
tokens[37, 3] = 68
tokens[350, 3] = 69
labels = (tokens.sum(1) % 3)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(60, 16)
        self.head = nn.Linear(16, 3)
    def forward(self, t):
        return self.head(self.table(t).mean(1))  # <- index-out-of-range
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(6):
    for t, l in DataLoader(TensorDataset(tokens, labels), batch_size=20):
        loss = nn.functional.cross_entropy(net(t), l)
        opt.zero_grad()
        loss.backward()
        opt.step()
