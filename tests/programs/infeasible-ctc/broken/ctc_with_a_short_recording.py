import torch
from torch.utils.data import DataLoader, Dataset


class Audio(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, i):
        n = 10 if i != 13 else 3
        return torch.randn(n, 4, generator=torch.Generator().manual_seed(i)), torch.randint(
            1, 5, (5,), generator=torch.Generator().manual_seed(i)
        )


def collate(items):
    xs, ts = zip(*items)
    lens = torch.tensor([len(x) for x in xs])
    return torch.nn.utils.rnn.pad_sequence(xs), torch.stack(ts), lens


torch.manual_seed(0)
m = torch.nn.Linear(4, 5)
opt = torch.optim.Adam(m.parameters())
ctc = torch.nn.CTCLoss()
for x, t, lens in DataLoader(Audio(), batch_size=4, shuffle=True, collate_fn=collate):
    loss = ctc(m(x).log_softmax(-1), t, lens, torch.full((len(lens),), 5))  # <- infeasible-ctc
    opt.zero_grad()
    loss.backward()
    opt.step()
