# the image is what is trained; the network is a fixed random one
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
cnn = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU())
style, content = torch.rand(1, 3, 16, 16), torch.rand(1, 3, 16, 16)
def gram(f): f = f.flatten(2); return f @ f.transpose(1, 2) / f.numel()
with torch.no_grad(): gs, fc = gram(cnn(style)), cnn(content)
img = content.clone().requires_grad_(True)
opt = torch.optim.Adam([img], lr=.02)
for i in range(100):
    f = cnn(img); loss = 1e4 * F.mse_loss(gram(f), gs) + F.mse_loss(f, fc)
    opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad(): img.clamp_(0, 1)
    if i % 25 == 0: print(i, round(loss.item(), 4))
