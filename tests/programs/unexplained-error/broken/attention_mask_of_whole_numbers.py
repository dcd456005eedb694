import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, 2)

    def forward(self, x, mask):
        B, T, D = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])  # <- unexplained-error
        return self.out(a.transpose(1, 2).reshape(B, T, D)[:, 0])


torch.manual_seed(0)
model = SelfAttention(16, 2)
opt = torch.optim.AdamW(model.parameters())
x, y = torch.randn(8, 5, 16), torch.randint(0, 2, (8,))
attention_mask = torch.tensor([[1, 1, 1, 1, 0]] * 8)
for _ in range(3):
    opt.zero_grad()
    F.cross_entropy(model(x, attention_mask), y).backward()
    opt.step()
