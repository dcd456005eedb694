# Denoising autoencoder with noisy input, plus exploration noise as target of a randomised prior head (fresh draw each step).
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
body, recon, uncertainty = nn.Sequential(nn.Linear(4, 64), nn.ReLU()), nn.Linear(64, 4), nn.Linear(64, 4)
opt = torch.optim.Adam([*body.parameters(), *recon.parameters(), *uncertainty.parameters()], lr=2e-3)
data = torch.randn(512, 4) @ torch.randn(4, 4)
for step in range(80):
    x = data[torch.randint(0, 512, (64,))]
    h = body(x + 0.1 * torch.randn_like(x))
    # coin flipping: regression onto fresh noise, whose prediction shrinks as 1/n with the visits (Lobel et al. 2023)
    loss = F.mse_loss(recon(h), x) + F.mse_loss(uncertainty(h.detach()), torch.randn(64, 4))
    opt.zero_grad()
    loss.backward()
    opt.step()
