import torch
from torch import nn
import witness

witness.seed()
model = nn.Transformer(16, 2, 1, 1, 32, dropout=0.1, batch_first=True)
attention = nn.MultiheadAttention(16, 2, dropout=0.2, batch_first=True)
head = nn.Linear(16, 3)
parameters = [*model.parameters(), *attention.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3)
for step in range(4):
    source, target = torch.randn(4, 6, 16), torch.randn(4, 5, 16)
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    padding = torch.zeros(4, 6, dtype=torch.bool)
    padding[:, 4:] = True
    out = model(source, target, tgt_mask=causal, src_key_padding_mask=padding, memory_key_padding_mask=padding)
    mixed, weights = attention(out, out, out, attn_mask=causal, need_weights=True)
    plain = nn.functional.scaled_dot_product_attention(mixed, mixed, mixed, is_causal=True)
    loss = head(plain).square().mean() + weights.std()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters, 0.5)
    optimizer.step()
    witness.swear("loss", loss)
model.eval()
with torch.inference_mode():
    fast = model.encoder(torch.ones(2, 6, 16), src_key_padding_mask=torch.tensor([[False] * 6, [False] * 3 + [True] * 3]))
    witness.swear("fast path", fast)
witness.swear("model", model)
witness.swear("attention", attention)
witness.swear("optimizer", optimizer)
witness.testify()
