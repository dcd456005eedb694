import torch
import torch.nn as nn

class Recognizer(nn.Module):
    def __init__(self, feats=13, classes=8):
        super().__init__()
        self.rnn = nn.LSTM(feats, 32, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(64, classes)
    def forward(self, x):
        return self.fc(self.rnn(x)[0]).log_softmax(2)

torch.manual_seed(0)
x = torch.randn(80, 30, 13)
t = torch.randint(1, 8, (80, 6))
model = Recognizer()
ctc = nn.CTCLoss(blank=0)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for i in range(0, 80, 16):
        lp = model(x[i:i + 16])
        in_len = torch.full((16,), 30, dtype=torch.long)
        t_len = torch.full((16,), 6, dtype=torch.long)
        loss = ctc(lp, t[i:i + 16], in_len, t_len)  # <- target-shape-mismatch
        opt.zero_grad(); loss.backward(); opt.step()
    print(epoch, loss.item())
