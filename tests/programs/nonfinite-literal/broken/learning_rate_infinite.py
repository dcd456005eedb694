import torch


class Warmup:
    def __init__(self, opt, steps):
        self.opt, self.steps, self.n = opt, steps, 0

    def step(self):
        self.n += 1
        for g in self.opt.param_groups:
            g["lr"] = 0.01 * (self.n / self.steps if self.steps else float("inf"))


torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
sched = Warmup(opt, 0)
for i in range(10):
    x = torch.randn(8, 3)
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()  # <- nonfinite-literal
    sched.step()
    print(i, loss.item())
