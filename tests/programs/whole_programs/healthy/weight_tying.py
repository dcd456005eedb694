import torch
from torch import nn

class LM(nn.Module):
    def __init__(self, vocab=50, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(dim, vocab, bias=False)
        self.out.weight = self.embed.weight
    def forward(self, x):
        return self.out(self.drop(self.rnn(self.embed(x))[0]))

torch.manual_seed(0)
model = LM()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)
for epoch in range(5):
    model.train()
    for _ in range(8):
        x = torch.randint(0, 50, (8, 12))
        logits = model(x[:, :-1])
        loss = nn.functional.cross_entropy(logits.reshape(-1, 50), x[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        x = torch.randint(0, 50, (8, 12))
        print(epoch, nn.functional.cross_entropy(model(x[:, :-1]).reshape(-1, 50), x[:, 1:].reshape(-1)).item())
