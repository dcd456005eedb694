import torch
from torch import nn
from torch.optim import lr_scheduler as S
torch.manual_seed(0)
def run(make, per_batch, epochs=10, batches=8):
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD([{"params": [model.weight]}, {"params": [model.bias], "lr": 0.0}], lr=0.05)
    sch = make(opt, epochs, batches)
    for e in range(epochs):
        for b in range(batches):
            x = torch.randn(16, 4)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            opt.zero_grad(); loss.backward(); opt.step()
            if per_batch: sch.step()
        if not per_batch:
            sch.step(loss.item()) if isinstance(sch, S.ReduceLROnPlateau) else sch.step()
run(lambda o, e, b: S.StepLR(o, 3), False)
run(lambda o, e, b: S.MultiStepLR(o, [5, 8]), False)
run(lambda o, e, b: S.ExponentialLR(o, 0.8), False)
run(lambda o, e, b: S.CosineAnnealingLR(o, e), False)
run(lambda o, e, b: S.CosineAnnealingLR(o, e * b), True)
run(lambda o, e, b: S.CosineAnnealingWarmRestarts(o, 2), False)
run(lambda o, e, b: S.OneCycleLR(o, 0.1, epochs=e, steps_per_epoch=b), True)
run(lambda o, e, b: S.SequentialLR(o, [S.LinearLR(o, 0.01, 1, 10), S.CosineAnnealingLR(o, e * b - 10)], [10]), True)
run(lambda o, e, b: S.PolynomialLR(o, e * b), True)
run(lambda o, e, b: S.LinearLR(o, 1.0, 0.0, e * b), True)
run(lambda o, e, b: S.ReduceLROnPlateau(o, patience=1), False)
run(lambda o, e, b: S.LambdaLR(o, lambda i: (i + 1) ** -0.5), True)
run(lambda o, e, b: S.CyclicLR(o, 1e-4, 0.1, step_size_up=10), True)
run(lambda o, e, b: S.ChainedScheduler([S.ConstantLR(o, 0.1, 3), S.ExponentialLR(o, 0.9)]), False)
