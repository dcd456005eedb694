import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __init__(self, count):
        self.count = count
        self.cache = {}

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = torch.full((64,), float(index % 7)) / 7
        return self.cache[index]


torch.manual_seed(0)
features = {}
net = nn.Sequential(nn.Linear(64, 16), nn.Tanh(), nn.Linear(16, 1))
net[1].register_forward_hook(lambda module, inputs, output: features.update(hidden=output))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
norms = []
for x in DataLoader(Squares(320), batch_size=8):
    loss = (net(x) - x.mean(dim=1, keepdim=True)).pow(2).mean() + 1e-3 * features[
        "hidden"
    ].abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    norms.append(nn.utils.clip_grad_norm_(net.parameters(), 10.0))
print(max(norms).item())
