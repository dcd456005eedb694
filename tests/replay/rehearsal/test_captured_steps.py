"""A captured step gives the recorded loss and gradients again, and takes the data of any other step of its path."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from tests.support.captures import captured, capturing, steps_of
from torchwhy.replay.rehearsal.allowance import CannotAsk


class Rounded(torch.autograd.Function):
    """A straight-through estimator."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Reversed(torch.autograd.Function):
    """A gradient reversal; its forward returns a view of its input."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


def dropout_and_batch_norm():
    net = nn.Sequential(
        nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3)
    )
    return [*net.parameters()], lambda: functional.cross_entropy(
        net(torch.randn(16, 5)), torch.randint(0, 3, (16,))
    )


def carried_state():
    cell, head = nn.GRU(4, 6, batch_first=True), nn.Linear(6, 1)
    state = [None]

    def loss():
        x = torch.randn(3, 5, 4)
        out, last = cell(x, state[0])
        state[0] = last.detach()
        return functional.mse_loss(head(out[:, -1]), x.mean((1, 2))[:, None])

    return [*cell.parameters(), *head.parameters()], loss


def transformer():
    embed, layer = nn.Embedding(11, 16), nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    head = nn.Linear(16, 11)

    def loss():
        tokens = torch.randint(0, 11, (4, 9))
        mask = nn.Transformer.generate_square_subsequent_mask(8)
        out = head(layer(embed(tokens[:, :-1]), src_mask=mask, is_causal=True))
        return functional.cross_entropy(out.flatten(0, 1), tokens[:, 1:].flatten())

    return [*embed.parameters(), *layer.parameters(), *head.parameters()], loss


def convolution_in_place():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(144, 2))

    def loss():
        image = torch.randn(5, 1, 8, 8)
        out = net(image)
        out[:, 0] += 1.0
        return functional.cross_entropy(out.mul_(0.5), (image.mean((1, 2, 3)) > 0).long())

    return [*net.parameters()], loss


def written_buffer():
    net = nn.Linear(4, 3)

    def loss():
        x, out = torch.randn(6, 4), torch.zeros(6, 5)
        out[:, :3] = net(x)
        out[:, 3:] = out[:, :2] * 2
        return (out - x.sum(1, keepdim=True)).pow(2).mean()

    return [*net.parameters()], loss


def variational():
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)

    def loss():
        x = torch.randn(8, 6)
        mean, log_variance = encoder(x).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        kl = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(1).mean()
        return functional.mse_loss(decoder(z), x) + 0.1 * kl

    return [*encoder.parameters(), *decoder.parameters()], loss


def straight_through():
    encoder, decoder = nn.Linear(4, 4), nn.Linear(4, 4)

    def loss():
        x = torch.randn(8, 4)
        return functional.mse_loss(decoder(Rounded.apply(encoder(x) * 3)), x)

    return [*encoder.parameters(), *decoder.parameters()], loss


def adversarial_domain():
    features, classes, domains = nn.Linear(4, 6), nn.Linear(6, 2), nn.Linear(6, 2)

    def loss():
        x = torch.randn(8, 4)
        h = features(x).tanh()
        own = functional.cross_entropy(classes(h), (x[:, 0] > 0).long())
        return own + functional.cross_entropy(domains(Reversed.apply(h)), (x[:, 1] > 0).long())

    return [p for part in (features, classes, domains) for p in part.parameters()], loss


def physics_informed():
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))

    def loss():
        x = torch.rand(9, 1, requires_grad=True)
        (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        return (slope - torch.cos(x.detach())).pow(2).mean()

    return [*net.parameters()], loss


def averaged_teacher():
    student, teacher = nn.Linear(4, 3), nn.Linear(4, 3)
    teacher.requires_grad_(False)

    def loss():
        with torch.no_grad():
            for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
                slow.mul_(0.9).add_(fast, alpha=0.1)
        x = torch.randn(8, 4)
        return functional.mse_loss(student(x + 0.1 * torch.randn_like(x)), teacher(x))

    return [*student.parameters()], loss


def spectral_norm():
    net = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))
    return [*net.parameters()], lambda: functional.mse_loss(
        net(torch.randn(8, 4)), torch.randn(8, 4)
    )


def lower_precision():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

    def loss():
        x = torch.randn(8, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = net(x)
        return functional.mse_loss(out.float(), x.sum(1, keepdim=True))

    return [*net.parameters()], loss


def checkpointed():
    first, second = nn.Linear(4, 8), nn.Linear(8, 2)

    def loss():
        x = torch.randn(8, 4)
        h = checkpoint(lambda given: first(given).relu(), x, use_reentrant=False)
        return functional.cross_entropy(second(h), (x[:, 0] > 0).long())

    return [*first.parameters(), *second.parameters()], loss


def contrastive():
    net, scale = nn.Linear(6, 4), nn.Parameter(torch.tensor(1.0))

    def loss():
        x = torch.randn(8, 6)
        a, b = (functional.normalize(net(x + 0.1 * torch.randn_like(x)), dim=1) for _ in range(2))
        return functional.cross_entropy(a @ b.t() * scale.exp(), torch.arange(8))

    return [*net.parameters(), scale], loss


STYLES = [
    dropout_and_batch_norm, carried_state, transformer, convolution_in_place, written_buffer, variational,
    straight_through, adversarial_domain, physics_informed, averaged_teacher, spectral_norm, lower_precision,
    checkpointed, contrastive,
]  # fmt: skip


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
def test_every_step_is_captured_with_its_loss_and_gradients(style):
    steps = captured(style)

    (group,) = steps.groups
    assert not steps.refused
    assert len(group.steps) == 6
    assert steps.trainable(group)  # raises where gradients differ from the recorded ones


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
def test_the_next_steps_data_in_this_program_gives_the_next_steps_loss(style):
    (group,) = captured(style).groups
    this, following = group.steps[2], group.steps[3]

    slots = {number: slot.tensor for number, slot in enumerate(following.slots)}

    assert this.shapes == following.shapes
    assert this.loss_with(following.weights, slots=slots) == following.loss
    assert this.loss != following.loss


def test_a_generators_pass_before_the_discriminators_update_belongs_to_its_own_step():
    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
    of_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
    with capturing(of_generator) as rehearsal:
        for _ in range(4):
            fake = generator(torch.randn(8, 2))
            (critic(fake.detach()).mean() - critic(torch.randn(8, 3)).mean()).backward()
            with torch.no_grad():
                for parameter in critic.parameters():
                    parameter.sub_(0.1 * parameter.grad)
                    parameter.grad = None
            critic(fake).mean().backward()
            of_generator.step()
            of_generator.zero_grad()
    steps = steps_of(rehearsal)

    assert not steps.refused
    assert sorted(group.seen for group in steps.groups) == [4, 4]


def test_roles_follow_from_the_graph():
    (group,) = captured(transformer).groups

    roles = {tuple(slot.tensor.shape): slot.role for slot in group.steps[0].slots}

    assert roles[4, 8] == "input"
    assert roles[32,] == "target"
    assert roles[8, 8] == "constant"


def test_an_autoencoders_data_is_an_input_and_a_target():
    (group,) = captured(straight_through).groups

    assert [slot.role for slot in group.steps[0].slots] == ["input", "target"]


def test_running_statistics_are_buffers_and_stay_as_they_are():
    (group,) = captured(dropout_and_batch_norm).groups
    step = group.steps[0]
    before = [step.slots[number].tensor.clone() for number in step.numbers("buffer")]

    assert step.loss_with(step.weights) == step.loss_with(step.weights)
    assert len(before) == 2
    assert all(
        torch.equal(old, step.slots[number].tensor)
        for old, number in zip(before, step.numbers("buffer"), strict=True)
    )


def test_a_penalty_of_the_weights_makes_no_input_of_the_target():
    def penalised():
        net = nn.Linear(4, 2)

        def loss():
            x = torch.randn(8, 4)
            fit = functional.cross_entropy(net(x), (x[:, 0] > 0).long())
            return fit + 1e-3 * sum(p.pow(2).sum() for p in net.parameters())

        return [*net.parameters()], loss

    (group,) = captured(penalised).groups

    assert [slot.role for slot in group.steps[0].slots] == ["input", "target"]


def test_a_hook_that_changes_gradients_forbids_questions_that_train():
    def hooked():
        net = nn.Linear(4, 2)
        net.weight.register_hook(lambda gradient: gradient * 2)
        return [*net.parameters()], lambda: net(torch.randn(8, 4)).pow(2).mean()

    steps = captured(hooked)

    with pytest.raises(CannotAsk, match="other gradients"):
        steps.trainable(steps.main)


def test_a_graph_over_many_steps_is_refused_with_its_reason():
    def endless():
        weight = nn.Parameter(torch.ones(3))
        total = [torch.zeros(3)]

        def loss():
            total[0] = total[0] + weight * torch.randn(3)
            return total[0].sum()

        return [weight], loss

    torch.manual_seed(0)
    parameters, loss_of = endless()
    with capturing(torch.optim.SGD(parameters, lr=0.0)) as rehearsal:
        for _ in range(5):
            loss_of().backward(retain_graph=True)

    assert any("reaches back" in reason for reason in rehearsal.collection.refused)


def test_sparse_gradients_are_refused_with_their_reason():
    def looked_up():
        table = nn.Embedding(9, 3, sparse=True)
        return [table.weight], lambda: table(torch.randint(0, 9, (8,))).pow(2).mean()

    torch.manual_seed(0)
    parameters, loss_of = looked_up()
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    with capturing(optimizer) as rehearsal:
        for _ in range(2):
            optimizer.zero_grad()
            loss_of().backward()
            optimizer.step()
    steps = steps_of(rehearsal)

    with pytest.raises(CannotAsk, match="sparse"):
        steps.trainable(steps.main)
