import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
vgg = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)).eval()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    clean = torch.rand(4, 1, 12, 12); noisy = clean + 0.2 * torch.randn_like(clean)
    out = net(noisy)
    loss = nn.functional.l1_loss(out, clean) + 0.1 * nn.functional.mse_loss(vgg(out), vgg(clean).detach())
    opt.zero_grad(); loss.backward(); opt.step()
