# Logit demand model: the rows are the products of one market, the softmax over them gives market shares.
import torch
from torch import nn
torch.manual_seed(0)
utility = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(utility.parameters(), lr=5e-3)
beta = torch.randn(5)
for step in range(100):
    products = torch.randn(12, 5)
    shares = (products @ beta).softmax(0)[:, None]
    predicted = utility(products).softmax(dim=0)
    loss = nn.functional.mse_loss(predicted, shares)
    opt.zero_grad()
    loss.backward()
    opt.step()
