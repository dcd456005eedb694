import copy
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
ema = copy.deepcopy(model)
for p in ema.parameters():
    p.requires_grad_(False)
swa = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
swa_scheduler = SWALR(optimizer, swa_lr=0.05)
data = [(x, x[:, :3].argmax(1)) for x in torch.randn(8, 32, 6)]
for epoch in range(12):
    model.train()
    for x, y in data:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            for a, b in zip(ema.parameters(), model.parameters()):
                a.lerp_(b, 0.1)
            for a, b in zip(ema.buffers(), model.buffers()):
                a.copy_(b)
    if epoch > 6:
        swa.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
    ema.eval()
    with torch.no_grad():
        print(epoch, nn.functional.cross_entropy(ema(data[0][0]), data[0][1]).item())
update_bn([x for x, _ in data], swa)
swa.eval()
with torch.no_grad():
    print((swa(data[0][0]).argmax(1) == data[0][1]).float().mean().item())
