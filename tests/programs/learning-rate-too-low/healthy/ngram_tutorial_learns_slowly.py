import torch, torch.nn as nn, torch.nn.functional as F, torch.optim as optim
torch.manual_seed(1)
test_sentence = """When forty winters shall besiege thy brow, And dig deep trenches in thy beauty's field, Thy youth's proud livery so gazed on now, Will be a totter'd weed of small worth held: Then being asked, where all thy beauty lies, Where all the treasure of thy lusty days; To say, within thine own deep sunken eyes, Were an all-eating shame, and thriftless praise.""".split()
ngrams = [([test_sentence[i - j - 1] for j in range(2)], test_sentence[i]) for i in range(2, len(test_sentence))]; vocab = set(test_sentence); word_to_ix = {w: i for i, w in enumerate(sorted(vocab))}
class NGramLanguageModeler(nn.Module):
    def __init__(self): super().__init__(); self.embeddings = nn.Embedding(len(vocab), 10); self.linear1 = nn.Linear(20, 128); self.linear2 = nn.Linear(128, len(vocab))
    def forward(self, inputs): return F.log_softmax(self.linear2(F.relu(self.linear1(self.embeddings(inputs).view((1, -1))))), dim=1)
losses = []; loss_function = nn.NLLLoss(); model = NGramLanguageModeler(); optimizer = optim.SGD(model.parameters(), lr=0.001)
for epoch in range(10):
    total_loss = 0
    for context, target in ngrams:
        context_idxs = torch.tensor([word_to_ix[w] for w in context], dtype=torch.long); model.zero_grad(); log_probs = model(context_idxs)
        loss = loss_function(log_probs, torch.tensor([word_to_ix[target]], dtype=torch.long)); loss.backward(); optimizer.step(); total_loss += loss.item()
    losses.append(total_loss)
print(losses)
