import torch
from torch import nn

torch.manual_seed(0)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(9, 36), nn.ReLU())
        self.regress = nn.Linear(36, 2)
        self.tag = nn.Linear(36, 5)

    def forward(self, x, task):
        h = self.shared(x)
        return self.regress(h) if task == "regress" else torch.sigmoid(self.tag(h))  # <- sigmoid-before-bce-with-logits


PHASES = [
    {"task": "regress", "lr": 3e-3, "steps": 60},
    {"task": "tag", "lr": 3e-3, "steps": 60},
]
W = torch.randn(9, 7)


def loss_of(task, out, x):
    truth = x @ W
    if task == "regress":
        return nn.functional.mse_loss(out, truth[:, :2])
    return nn.functional.binary_cross_entropy_with_logits(out, (truth[:, 2:] > 0).float())


model = MultiTask()
for phase in PHASES:
    named = dict(model.named_parameters())
    chosen = [p for n, p in named.items() if n.startswith(("shared", phase["task"]))]
    optimizer = torch.optim.AdamW(chosen, lr=phase["lr"])
    for step in range(phase["steps"]):
        x = torch.randn(128, 9)
        loss = loss_of(phase["task"], model(x, phase["task"]), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(phase["task"], loss.item())
