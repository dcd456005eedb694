import torch
import torch.nn.functional as F

torch.manual_seed(0)
model = torch.nn.Linear(12, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def train_step(x, labels):
    optimizer.zero_grad(set_to_none=False)
    logits = model(x)
    loss = F.cross_entropy(logits, labels, ignore_index=-1)  # <- empty-reduction
    loss.backward()
    optimizer.step()
    return float(loss)


for step in range(40):
    labels = torch.randint(0, 5, (8,))
    if step == 23:
        labels[:] = -1
    train_step(torch.randn(8, 12), labels)
