import torch
import torch._dynamo
from compiler_witness import counting, graphs, testify, witness
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x).relu()


def train(model, steps=2):
    for _ in range(steps):
        loss = model(torch.randn(6, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        witness.swear("loss", loss)


witness.seed()
net = Net()
x = torch.randn(6, 4)
program = torch.export.export(net, (x,))
graphs.append([str(node.target) for node in program.graph.nodes])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
train(net, 3)
for strict in (True, False):
    program = torch.export.export(net, (x,), strict=strict)
    graphs.append([str(node.target) for node in program.graph.nodes])
explained = torch._dynamo.explain(net)(x)
witness.swear("explained", [explained.graph_count, explained.graph_break_count, explained.op_count])
graph, guards = torch._dynamo.export(net)(x)
graphs.append([str(node.target) for node in graph.graph.nodes])
traced = torch.jit.trace(net, x)
witness.swear("traced", str(traced.graph))
train(torch._dynamo.optimize(counting)(net))
values = dict(net.named_parameters())


@torch.compile(backend=counting, fullgraph=True)
def gradients(values, x):
    return torch.func.grad(lambda v: torch.func.functional_call(net, v, (x,)).square().sum())(values)


witness.swear("gradients", gradients(values, x))
witness.swear("mapped", torch.compile(torch.vmap(net), backend=counting)(x))
with torch.compiler.set_stance("eager_on_recompile"):
    train(torch.compile(net, backend=counting), 3)
with torch._dynamo.config.patch(compiled_autograd=True):
    train(torch.compile(net, backend=counting), 3)
torch._dynamo.reset()
train(torch.compile(net, backend=counting), 2)
testify(net)
