import torch
from torch.utils.data import DataLoader, Dataset


class D(Dataset):
    def __len__(self):
        return 30

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        x = torch.randn(4, generator=g)
        return {"image": x, "target": x.sum() if i != 17 else x.sum() * float("nan")}


def train(model, loader, opt):
    for batch in loader:  # <- nonfinite-data
        loss = (model(batch["image"]).squeeze(1) - batch["target"]).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


torch.manual_seed(0)
m = torch.nn.Linear(4, 1)
train(
    m, DataLoader(D(), batch_size=5, shuffle=True, num_workers=2), torch.optim.Adam(m.parameters())
)
