import io
import torch
from torch import nn

torch.manual_seed(0)
source = nn.ModuleDict({"encoder": nn.Linear(8, 16), "decoder": nn.Linear(16, 8)})
file = io.BytesIO()
torch.save(source["encoder"].state_dict(), file)
file.seek(0)
state = torch.load(file)
parts = [nn.Linear(8, 16), nn.Linear(16, 8), nn.BatchNorm1d(16)]
for part in parts:
    fitting = {k: v for k, v in state.items() if k in part.state_dict() and v.shape == part.state_dict()[k].shape}
    part.load_state_dict(fitting, strict=False)
model = nn.Sequential(parts[0], parts[2], nn.ReLU(), parts[1])
noise = model.state_dict()
for value in noise.values():
    if value.is_floating_point():
        value.add_(0.01 * torch.randn_like(value))
model.load_state_dict(noise)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(25):
    x = torch.randn(64, 8)
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
