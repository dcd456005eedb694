import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return {"wave": torch.randn(1, 90 + i % 7), "label": i % 2}


torch.manual_seed(0)
loader = DataLoader(Waves(), batch_size=8)  # <- ragged-batch
net = nn.Sequential(nn.Conv1d(1, 8, 9, stride=4), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters())
for batch in loader:
    loss = nn.functional.cross_entropy(net(batch["wave"]), batch["label"])
    opt.zero_grad()
    loss.backward()
    opt.step()
