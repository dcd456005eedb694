import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Sentences(Dataset):
    def __init__(self):
        self.rows = [torch.randint(1, 20, (int(torch.randint(3, 12, ())),)) for _ in range(240)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        words = self.rows[index]
        ids, mask = torch.zeros(12, dtype=torch.long), torch.zeros(12)
        ids[: len(words)], mask[: len(words)] = words, 1
        return {"input_ids": ids, "attention_mask": mask, "label": int(words[0] > 10)}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(16, 2)

    def forward(self, ids, mask=None):
        return self.head(self.layer(self.embedding(ids)).mean(1))


model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(5):
    for batch in DataLoader(Sentences(), batch_size=24, shuffle=True):
        output = model(batch["input_ids"], batch["attention_mask"])
        loss = nn.functional.cross_entropy(output, batch["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
