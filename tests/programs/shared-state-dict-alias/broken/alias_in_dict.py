import torch
from torch import nn
def train():
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    best = {"loss": float("inf"), "state": None}
    for epoch in range(25):
        x = torch.randn(64, 4)
        loss = nn.functional.mse_loss(model(x), x.prod(1, keepdim=True))
        opt.zero_grad(); loss.backward(); opt.step()
        if loss.item() < best["loss"] and epoch < 15:
            best["loss"] = loss.item()
            best["state"] = model.state_dict()  # <- shared-state-dict-alias
    model.load_state_dict(best["state"])
    return model
torch.manual_seed(0)
train()
