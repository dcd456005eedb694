"""The forward algorithm of a CRF: all start scores are -inf, because nobody opened the first state."""
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, width, tags):
        super().__init__()
        self.emit = nn.Linear(width, tags)
        self.transition = nn.Parameter(torch.zeros(tags, tags))
        self.tags = tags

    def log_partition(self, emissions):
        alpha = torch.full((emissions.shape[0], self.tags), float("-inf"))  # <- nonfinite-literal
        for t in range(emissions.shape[1]):
            alpha = torch.logsumexp(alpha[:, :, None] + self.transition, dim=1) + emissions[:, t]
        return torch.logsumexp(alpha, dim=1)

    def score(self, emissions, tags):
        return emissions.gather(2, tags[..., None]).squeeze(2).sum(1)

    def forward(self, x, tags):
        emissions = self.emit(x)
        return (self.log_partition(emissions) - self.score(emissions, tags)).mean()


torch.manual_seed(0)
model = Tagger(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(5, 7, 4), torch.randint(0, 3, (5, 7)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
