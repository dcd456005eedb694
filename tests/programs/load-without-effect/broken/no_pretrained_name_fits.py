import io
import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 24))
buffer = io.BytesIO()
torch.save({"encoder." + k: v for k, v in backbone.state_dict().items()}, buffer)
buffer.seek(0)

model = nn.Sequential()
model.add_module("body", nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 24)))
model.add_module("head", nn.Linear(24, 2))
pretrained = torch.load(buffer)
own = model.state_dict()
matching = {k: v for k, v in pretrained.items() if k in own and v.shape == own[k].shape}
own.update(matching)
model.load_state_dict(own)  # <- load-without-effect
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for i in range(20):
    x = torch.randn(16, 12)
    loss = nn.functional.cross_entropy(model(x), (x.sum(1) > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
