"""What a network looks at: GNNExplainer on houses that hang on a random graph, with a page of pictures.

    PYTHONPATH=py python examples/geometric/explain.py

A GCN learns where in a house a node is. For some nodes the explainer finds the edges that the answer depends on; they should be those of the
node's own house. The page explain.html shows one of them.
"""

import numpy as np
from polygrad import Tensor, nn
from polygrad.geometric.datasets import BAShapes
from polygrad.geometric.explain import Explainer, GNNExplainer, fidelity, write_page
from polygrad.geometric.nn import GCN


def train(model, data, epochs=1500):
    optimizer = nn.Adam(model.parameters(), lr=0.002, weight_decay=5e-4)

    def train_step(model, optimizer, y):
        loss = model(data.x, data.edge_index).cross_entropy(y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    step = nn.compile_step(train_step, model, optimizer, data.y)
    for _ in range(epochs):
        step.run()
    right = model(data.x, data.edge_index).argmax(-1) == data.y
    return float(right.float().mean().item())


def main(nodes=5, page="explain.html"):
    Tensor.manual_seed(0)
    data = BAShapes()[0]
    model = GCN(10, 20, num_layers=3, out_channels=4)
    print(f"accuracy {train(model, data):.3f}")
    explainer = Explainer(
        model, GNNExplainer(epochs=100), explanation_type="model", node_mask_type="attributes", edge_mask_type="object",
        model_config=dict(mode="multiclass_classification", task_level="node", return_type="raw"),
    )  # fmt: skip
    house, shares = data.edge_label.numpy() > 0, []
    for node in np.random.default_rng(0).choice(np.arange(300, 700), nodes, replace=False):
        found = explainer(data.x, data.edge_index, index=int(node))
        shares.append(house[np.argsort(-found.edge_mask.numpy())[:12]].mean())
        print(f"node {node}: {12 * shares[-1]:.0f} of the 12 most important edges are in a house; fidelity {fidelity(explainer, found)}")
    write_page(found.threshold("topk", 12), page, f"Why node {node} is in its place")
    print(f"{np.mean(shares):.2f} of the edges found are in houses, {house.mean():.2f} of all edges; picture in {page}")
    return float(np.mean(shares))


if __name__ == "__main__":
    main()
