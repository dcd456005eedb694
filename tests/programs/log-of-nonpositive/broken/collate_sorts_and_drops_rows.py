import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
torch.manual_seed(0)
class Data(Dataset):
    def __init__(self):
        self.x = torch.rand(512, 8) + 0.1
        self.x[77, 3] = -1.0
    def __len__(self): return 512
    def __getitem__(self, i): return {"x": self.x[i], "labels": self.x[i].sum(), "id": i}
def collate(rows):
    rows = sorted(rows, key=lambda r: -float(r["labels"]))[1:]
    return {"inputs": {"x": torch.stack([r["x"] for r in rows])}, "labels": torch.stack([r["labels"] for r in rows])}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    def forward(self, x): return self.body(x.log()).squeeze(1)  # <- log-of-nonpositive
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
loader = DataLoader(Data(), batch_size=16, shuffle=True, collate_fn=collate)
ACC = 4
for epoch in range(4):
    it = iter(loader)
    for update in range(len(loader) // ACC):
        samples = [next(it) for _ in range(ACC)]
        for batch in samples:
            loss = nn.functional.mse_loss(net(**batch["inputs"]), batch["labels"]) / ACC
            loss.backward()
        opt.step()
        opt.zero_grad()
