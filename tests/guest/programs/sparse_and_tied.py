import torch
from torch import nn
import witness

witness.seed()
words = nn.Embedding(30, 4, sparse=True)
bag = nn.EmbeddingBag(30, 4, mode="sum", sparse=True)
tied = nn.Linear(4, 12, bias=False)
lookup = nn.Embedding(12, 4)
tied.weight = lookup.weight
sparse = torch.optim.SparseAdam([*words.parameters(), *bag.parameters()], lr=0.01)
dense = torch.optim.Adam(lookup.parameters(), lr=0.01, fused=True)
for step in range(4):
    tokens = torch.randint(12, (5, 3))
    hidden = words(tokens).mean(1) + bag(tokens) + lookup(tokens).sum(1)
    loss = nn.functional.cross_entropy(tied(hidden), tokens[:, 0])
    sparse.zero_grad()
    dense.zero_grad()
    loss.backward()
    witness.swear("sparse gradient", words.weight.grad)
    sparse.step()
    dense.step()
    witness.swear("loss", loss)
witness.swear("weights", [words, bag, tied, lookup])
for module in (words, bag, tied, lookup):
    witness.swear("module", module)
witness.swear("optimizers", [sparse.state_dict(), dense.state_dict()])
witness.testify()
