import torch

torch.manual_seed(0)
# Viterbi / CRF forward algorithm with -inf start scores
T, K = 5, 4
emit = torch.nn.Linear(3, K)
trans = torch.nn.Parameter(torch.randn(K, K) * 0.1)
opt = torch.optim.Adam([*emit.parameters(), trans], 1e-2)
for it in range(5):
    e = emit(torch.randn(T, 3))
    alpha = torch.full((K,), -10000.0)
    alpha[0] = 0.0
    for t in range(T):
        alpha = torch.logsumexp(alpha[:, None] + trans + e[t][None], 0)
    logZ = torch.logsumexp(alpha, 0)
    tags = torch.randint(0, K, (T,))
    gold = e[torch.arange(T), tags].sum() + trans[tags[:-1], tags[1:]].sum()
    loss = logZ - gold
    opt.zero_grad()
    loss.backward()
    opt.step()
