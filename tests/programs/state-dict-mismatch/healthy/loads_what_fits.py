import torch
from torch import nn


def load_what_fits(model, state):
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        print("not all fits:", str(error).splitlines()[0])
        own = model.state_dict()
        fitting = {k: v for k, v in state.items() if k in own and own[k].shape == v.shape}
        model.load_state_dict(fitting, strict=False)


torch.manual_seed(0)
pretrained = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 5))
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
load_what_fits(model, pretrained.state_dict())
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(64, 4)
for _ in range(20):
    loss = (model(x) - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
