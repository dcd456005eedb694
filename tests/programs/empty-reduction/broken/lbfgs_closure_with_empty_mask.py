import torch

torch.manual_seed(0)
m = torch.nn.Linear(3, 1)
opt = torch.optim.LBFGS(m.parameters(), lr=0.5, max_iter=3)
x = torch.randn(6, 3)
for step in range(3):

    def closure():
        opt.zero_grad()
        keep = x[:, 0] > (0 if step < 2 else 50)
        loss = (m(x) - 1)[keep].pow(2).mean()  # <- empty-reduction
        loss.backward()
        return loss

    opt.step(closure)
