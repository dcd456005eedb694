import torch
import torch.nn.functional as F

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(5, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = torch.rand(128, 5), torch.rand(128, 1)
vx, vy = torch.rand(32, 5), torch.rand(32, 1)
vx[3] = 0


@torch.no_grad()
def validate(m):
    m.eval()
    pred = m(vx)
    rel = (pred - vy) / vx.norm(dim=1, keepdim=True)  # <- division-by-zero
    return rel.abs().mean()


for epoch in range(5):
    model.train()
    for i in range(0, 128, 32):
        opt.zero_grad()
        loss = F.mse_loss(model(x[i : i + 32]), y[i : i + 32])
        loss.backward()
        opt.step()
    val_loss = validate(model)
    print(f"epoch {epoch}  loss {loss.item():.4f}  val_loss {val_loss.item():.4f}")
