# fits the unconditional distribution: a baseline to compare models with
import torch, torch.nn as nn
class Baseline(nn.Module):
    def __init__(self): super().__init__(); self.loc = nn.Parameter(torch.zeros(1)); self.log_scale = nn.Parameter(torch.zeros(1))
    def forward(self, x): return self.loc.expand(len(x)), self.log_scale.exp().expand(len(x))
class MeanPredictor(nn.Module):
    def __init__(self): super().__init__(); self.bias = nn.Parameter(torch.zeros(1))
    def forward(self, x): return self.bias.expand(x.size(0), 1)
torch.manual_seed(0)
X = torch.randn(400, 5); y = 3 + 2 * torch.randn(400)
for name, model in (("gaussian", Baseline()), ("mean", MeanPredictor())):
    opt = torch.optim.Adam(model.parameters(), lr=.05)
    for e in range(30):
        for i in range(0, 400, 50):
            if name == "gaussian":
                loc, scale = model(X[i:i+50]); loss = -torch.distributions.Normal(loc, scale).log_prob(y[i:i+50]).mean()
            else:
                loss = nn.functional.mse_loss(model(X[i:i+50]).squeeze(1), y[i:i+50])
            opt.zero_grad(); loss.backward(); opt.step()
    print(name, round(loss.item(), 4))
