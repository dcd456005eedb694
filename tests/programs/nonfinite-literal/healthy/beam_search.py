import torch
from torch import nn


class Translator(nn.Module):
    def __init__(self, vocabulary=12, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, token, state):
        state = self.cell(self.embed(token), state)
        return self.head(state), state


@torch.no_grad()
def beam_search(model, beams=3, length=5):
    scores = torch.full((beams,), float("-inf"))
    scores[0] = 0.0
    token, state = torch.zeros(beams, dtype=torch.long), torch.zeros(beams, 16)
    for _ in range(length):
        logits, state = model(token, state)
        logits[:, 0] = -float("inf")
        total = scores[:, None] + torch.log_softmax(logits, dim=1)
        scores, flat = total.flatten().topk(beams)
        token, state = flat % 12, state[flat // 12]
    return scores


torch.manual_seed(0)
model = Translator()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
print(beam_search(model))
for step in range(15):
    sentence = torch.randint(1, 12, (6, 8))
    state, loss = torch.zeros(8, 16), 0.0
    for t in range(5):
        logits, state = model(sentence[t], state)
        loss = loss + nn.functional.cross_entropy(logits, sentence[t + 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(beam_search(model).tolist())
