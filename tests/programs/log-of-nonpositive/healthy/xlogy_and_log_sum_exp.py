import torch

torch.manual_seed(0)
p = torch.tensor([0.5, 0.5, 0.0, 0.0])
logits = torch.zeros(4, requires_grad=True)
opt = torch.optim.LBFGS([logits], lr=0.5, max_iter=5)


def closure():
    opt.zero_grad()
    log_q = logits - torch.logsumexp(logits, 0)
    loss = torch.special.xlogy(p, p).sum() - (p * log_q).sum()
    loss.backward()
    return loss


for _ in range(8):
    print(opt.step(closure).item())
