import torch
from torch import nn


class Recogniser(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.lstm = nn.LSTM(8, 16, bidirectional=True)
        self.out = nn.Linear(32, classes)

    def forward(self, frames):
        h, _ = self.lstm(frames)
        return self.out(h).log_softmax(-1)


def utterance(step):
    length = 9 if step == 12 else 4
    return torch.randn(8, 2, 8), torch.randint(1, 6, (2, length)), torch.tensor([3, length])


torch.manual_seed(0)
model = Recogniser()
ctc = nn.CTCLoss(blank=0)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(20):
    frames, text, text_lengths = utterance(step)
    log_probs = model(frames)
    frame_lengths = torch.full((2,), log_probs.shape[0])
    loss = ctc(log_probs, text, frame_lengths, text_lengths)  # <- infeasible-ctc
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
