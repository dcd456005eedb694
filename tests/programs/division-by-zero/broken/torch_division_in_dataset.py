import torch
from torch.utils.data import DataLoader, Dataset


class Signals(Dataset):
    def __init__(self):
        g = torch.Generator().manual_seed(0)
        self.waves = torch.randn(200, 12, generator=g)
        self.waves[137] = 3.0

    def __len__(self):
        return 200

    def __getitem__(self, i):
        wave = self.waves[i]
        wave = (wave - wave.mean()) / wave.std()  # <- division-by-zero
        return wave, (wave[0] > 0).float()


torch.manual_seed(0)
net = torch.nn.Linear(12, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(Signals(), batch_size=10, shuffle=True, num_workers=0):
    loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
