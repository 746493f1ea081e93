"""A layer of one's own: MessagePassing with a message that looks at both ends of an edge, and at the edge.

    PYTHONPATH=py python examples/geometric/custom_message_passing.py

The layer says what happens on one edge; the library makes one loop over the neighbours of each node out of it. The messages themselves, edges x
features numbers, are never in memory: the profile at the end shows all that is. The layer learns what another one of its kind, with parameters
that it does not know, makes of a random graph: it is shown half of the nodes and tested on the others.
"""

import numpy as np
from polygrad import Profile, Tensor, nn
from polygrad.geometric.nn import Linear, MessagePassing
from polygrad.geometric.utils import softmax
from polygrad.nn import compile_step


class Gated(MessagePassing):
    """x'_i = W x_i + sum over j of alpha_ij tanh(A x_i + B x_j) * V x_j, alpha_ij = softmax over j of s . [x_j - x_i]^2 + t d_ij.

    d is a number for each edge.
    """

    def __init__(self, in_channels, out_channels):
        super().__init__(aggr="add")
        self.own, self.a, self.b, self.v = (Linear(in_channels, out_channels, bias=k == 0) for k in range(4))
        self.s = Tensor.zeros(in_channels, requires_grad=True)
        self.t = Tensor.zeros(1, requires_grad=True)

    def forward(self, x, edge_index, distance):
        alpha = self.edge_updater(edge_index, x=x, distance=distance)
        # What is a function of one node is computed here, once a node; _i and _j then show it to the edges.
        return self.own(x) + self.propagate(edge_index, ax=self.a(x), bx=self.b(x), vx=self.v(x), alpha=alpha)

    def edge_update(self, x_i, x_j, distance, index, size_i):
        return softmax(((x_j - x_i).square() * self.s).sum(-1) + self.t * distance, index, num_nodes=size_i)

    def message(self, ax_i, bx_j, vx_j, alpha):
        return alpha.unsqueeze(-1) * (ax_i + bx_j).tanh() * vx_j


def main():
    Tensor.manual_seed(0)
    rng = np.random.default_rng(0)
    nodes, edges, features = 600, 6000, 8
    edge_index = Tensor(rng.integers(0, nodes, (2, edges)))
    x = Tensor(rng.standard_normal((nodes, features)).astype(np.float32))
    distance = Tensor(rng.random(edges).astype(np.float32))

    teacher, model = Gated(features, 4), Gated(features, 4)
    teacher.s.assign(Tensor.randn(features) * 0.5)
    teacher.t.assign(Tensor([-2.0]))
    with Tensor.no_grad():
        y = teacher(x, edge_index, distance).realize()
    train, test = Tensor(np.arange(0, nodes, 2)), Tensor(np.arange(1, nodes, 2))
    optimizer = nn.Adam(model.parameters(), lr=0.02)

    def train_step(model, optimizer):
        loss = (model(x, edge_index, distance)[train] - y[train]).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    step = compile_step(train_step, model, optimizer)
    spread = y.var().item()
    for epoch in range(1, 501):
        step.run()
        if epoch % 100 == 0:
            error = (model(x, edge_index, distance)[test] - y[test]).square().mean().item()
            print(f"epoch {epoch:3d}: error {step.loss_value() / spread:.5f} of the variance, {error / spread:.5f} at the other nodes")

    with Profile() as profile:
        step.run()
    widest = max(int(np.prod(s.shape)) for s in profile.stored if s.shape and s.shape[0] == edges)
    print(f"a step is {sum(k.count for k in profile.kernels)} kernels; the widest value of the {edges} edges in memory has {widest} numbers")


if __name__ == "__main__":
    main()
