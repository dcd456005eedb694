import torch
from torch import nn
torch.manual_seed(0)
X = torch.linspace(0, 1, 40)[:, None]; X[20] = X[21]
y = torch.sin(6 * X[:, 0])
class GP(nn.Module):
    def __init__(self):
        super().__init__(); self.l = nn.Parameter(torch.tensor(0.)); self.s = nn.Parameter(torch.tensor(0.)); self.n = nn.Parameter(torch.tensor(-20.))
    def forward(self):
        K = self.s.exp() * torch.exp(-.5 * torch.cdist(X, X) ** 2 / self.l.exp() ** 2) + self.n.exp() * torch.eye(40)
        L = torch.linalg.cholesky(K)  # <- unexplained-error
        a = torch.cholesky_solve(y[:, None], L)
        return .5 * y @ a[:, 0] + L.diagonal().log().sum()
gp = GP(); opt = torch.optim.Adam(gp.parameters(), .1)
for i in range(10):
    loss = gp(); opt.zero_grad(); loss.backward(); opt.step()
