import torch

torch.manual_seed(3)
features = torch.randn(300, 6)
price = features @ torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0, 1.0]) + 0.1 * torch.randn(300)
category = (price > 0).float()


class Trunk(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(6, 24)
        self.b = torch.nn.Linear(24, 24)

    def forward(self, x):
        return torch.relu(self.b(torch.relu(self.a(x))))


class Trainer:
    def __init__(self):
        self.trunk = Trunk()

    def run(self, head, target, loss_function, steps):
        optimizer = torch.optim.Adam([*self.trunk.parameters(), *head.parameters()], lr=2e-3)
        for step in range(steps):
            pick = torch.randperm(300)[:60]
            prediction = head(self.trunk(features[pick]))
            loss = loss_function(prediction, target[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()


def binary(prediction, target):
    return torch.nn.functional.binary_cross_entropy_with_logits(prediction.squeeze(1), target)


def squared(prediction, target):
    return ((prediction - target) ** 2).mean()  # <- broadcast-in-loss


trainer = Trainer()
print("sign", trainer.run(torch.nn.Linear(24, 1), category, binary, 60))
print("value", trainer.run(torch.nn.Linear(24, 1), price, squared, 60))
