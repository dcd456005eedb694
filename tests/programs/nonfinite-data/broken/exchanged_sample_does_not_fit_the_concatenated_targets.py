import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Sets(Dataset):
    def __init__(self):
        self.items = [(torch.randn(4), torch.rand(1 + i % 3) + 0.1) for i in range(64)]
        self.items[37] = (self.items[37][0]*float('nan'), self.items[37][1])

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(rows):
    x = torch.stack([r[0] for r in rows])
    lengths = torch.tensor([len(r[1]) for r in rows])
    return x, lengths, torch.cat([r[1] for r in rows])


net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(3):
    for x, lengths, flat in DataLoader(Sets(), batch_size=8, collate_fn=collate):  # <- nonfinite-data
        wanted = torch.stack([part.mean() for part in torch.split(flat, lengths.tolist())])
        loss = (net(x).squeeze(1) - wanted).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
