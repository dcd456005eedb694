# logits of an embedding that also reads the words begin far above a guess; torch draws embeddings like this
import torch
from torch import nn

torch.manual_seed(0)
words = nn.Embedding(20, 48)
mix = nn.Linear(48, 48)
opt = torch.optim.Adam([*words.parameters(), *mix.parameters()], lr=1e-3)
text = torch.arange(400) % 20
for step in range(26):
    places = torch.randint(0, 399, (16,))
    h = words(text[places])
    loss = nn.functional.cross_entropy((h + mix(h)) @ words.weight.T, text[places + 1])
    opt.zero_grad()
    loss.backward()
    opt.step()
