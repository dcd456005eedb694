import torch
import torch.nn as nn
torch.manual_seed(0)
A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
def true_traj(y0, n=20, dt=.1):
    ys = [y0]
    for _ in range(n): ys.append(ys[-1] + dt * ys[-1] @ A.T)
    return torch.stack(ys)
class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1); nn.init.constant_(m.bias, val=0)
    def forward(self, t, y): return self.net(y)
def rk4(f, y, n, dt):
    out = [y]
    for i in range(n):
        t = i * dt
        k1 = f(t, y); k2 = f(t + dt / 2, y + dt * k1 / 2); k3 = f(t + dt / 2, y + dt * k2 / 2); k4 = f(t + dt, y + dt * k3)
        y = y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6
        out.append(y)
    return torch.stack(out)
func = ODEFunc(); optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
for itr in range(1, 101):
    y0 = torch.randn(16, 2) * 1.5
    optimizer.zero_grad()
    pred = rk4(func, y0, 10, .1)
    loss = torch.mean(torch.abs(pred - true_traj(y0, 10)))
    loss.backward(); optimizer.step()
    if itr % 25 == 0: print(f"Iter {itr:04d} | Total Loss {loss.item():.6f}")
