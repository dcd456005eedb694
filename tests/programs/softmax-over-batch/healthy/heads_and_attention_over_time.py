import torch
from torch import nn


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(5, 12, batch_first=True)
        self.cell = nn.GRUCell(12, 12)
        self.out = nn.Linear(24, 5)

    def forward(self, x):
        memory, last = self.encoder(x)
        h = last[0]
        outputs = []
        for t in range(4):
            scores = torch.bmm(memory[:, : t + 1], h.unsqueeze(2)).squeeze(2)
            context = (torch.softmax(scores, dim=1).unsqueeze(2) * memory[:, : t + 1]).sum(dim=1)
            h = self.cell(context, h)
            outputs.append(self.out(torch.cat([h, context], dim=1)))
        return torch.stack(outputs, dim=1)


torch.manual_seed(0)
model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(25):
    x = torch.randn(10, 6, 5)
    loss = nn.functional.mse_loss(model(x), x[:, :4])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
