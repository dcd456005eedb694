import torch, torch.nn as nn
from torch.utils.data import Dataset, DataLoader
class D(Dataset):
    def __init__(self): g = torch.Generator().manual_seed(0); self.x = torch.randn(400, 5, generator=g); self.x[317, 2] = float("nan")
    def __len__(self): return 400
    def __getitem__(self, i): return {"feats": self.x[i], "y": self.x[i, :1].nan_to_num()}
if __name__ == "__main__":
    torch.manual_seed(0)
    net = nn.Linear(5, 1); opt = torch.optim.SGD(net.parameters(), 0.05)
    class Ahead:
        def __init__(self, dl): self.dl = dl
        def __iter__(self):
            it = iter(self.dl); nxt = next(it)  # <- nonfinite-data
            for b in it: cur, nxt = nxt, b; yield cur
            yield nxt
    for ep in range(2):
        for b in Ahead(DataLoader(D(), 16, shuffle=True, num_workers=2, prefetch_factor=3)):
            l = nn.functional.mse_loss(net(b["feats"]), b["y"]); opt.zero_grad(); l.backward(); opt.step()
        print(ep, l.item())
