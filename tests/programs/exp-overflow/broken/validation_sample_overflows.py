import torch
from torch import nn

torch.manual_seed(0)


class Poisson(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 1)

    def forward(self, x):
        return torch.exp(self.lin(x))  # <- exp-overflow


model = Poisson()
criterion = nn.PoissonNLLLoss(log_input=False)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
tx = torch.rand(64, 2)
ty = torch.poisson(1 + tx.sum(1, keepdim=True))
vx = torch.rand(16, 2)
vx[5] = torch.tensor([4000.0, 4000.0])
vy = torch.poisson(1 + torch.rand(16, 1))
with torch.no_grad():
    model.lin.weight.abs_()
history = {"train": [], "val": []}
for epoch in range(5):
    model.train()
    for i in range(0, 64, 16):
        opt.zero_grad()
        loss = criterion(model(tx[i : i + 16]), ty[i : i + 16])
        loss.backward()
        opt.step()
    model.eval()
    with torch.inference_mode():
        val_loss = criterion(model(vx), vy)
    history["train"].append(loss.item())
    history["val"].append(val_loss.item())
    print(f"Epoch {epoch}: train={loss:.4f} val={val_loss:.4f}")
