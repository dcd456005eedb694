import torch

torch.manual_seed(0)


class LM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(20, 8)
        self.rnn = torch.nn.LSTM(8, 8, batch_first=True)
        self.out = torch.nn.Linear(8, 20)

    def forward(self, x, state=None):
        h, state = self.rnn(self.emb(x), state)
        return self.out(h), state


def run_epoch(model, opt, data):
    state = None
    for x in data:
        logits, state = model(x[:, :-1], state)  # <- graph-freed
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), x[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


model = LM()
run_epoch(
    model,
    torch.optim.SGD(model.parameters(), 0.1),
    [torch.randint(0, 20, (4, 7)) for _ in range(4)],
)
