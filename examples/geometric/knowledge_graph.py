"""Knowledge graphs: embeddings of things and relations that tell which facts are likely.

    PYTHONPATH=py python examples/geometric/knowledge_graph.py [--model TransE|DistMult|ComplEx|RotatE] [--epochs 40]

The facts are about people of a few families: parent of, child of, sibling of. A tenth of them is held out, and the model ranks the true tail of each
among all people.
"""

import argparse

import numpy as np
from polygrad import Tensor, nn
from polygrad.geometric.nn import kge

PARENT, CHILD, SIBLING = range(3)


def families(count=30):
    """Facts (head, relation, tail) of families with two parents and three children each."""
    facts = []
    for k in range(count):
        parents, children = [5 * k, 5 * k + 1], [5 * k + 2, 5 * k + 3, 5 * k + 4]
        facts += [(p, PARENT, c) for p in parents for c in children] + [(c, CHILD, p) for p in parents for c in children]
        facts += [(a, SIBLING, b) for a in children for b in children if a != b]
    return np.array(facts), 5 * count


def main(model="ComplEx", epochs=40):
    Tensor.manual_seed(0)
    facts, people = families()
    facts = facts[np.random.default_rng(0).permutation(len(facts))]
    cut = len(facts) // 10
    test, train = (tuple(Tensor(np.ascontiguousarray(c)) for c in part.T) for part in (facts[:cut], facts[cut:]))
    net = getattr(kge, model)(num_nodes=people, num_relations=3, hidden_channels=32)
    optimizer = nn.Adam(net.parameters(), lr=0.02)
    loader = net.loader(*train, batch_size=128, shuffle=True)
    for epoch in range(epochs):
        losses = []
        for head, rel, tail in loader:
            optimizer.zero_grad()
            loss = net.loss(head, rel, tail)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if epoch % 10 == 9 or epoch == 0:
            print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
    rank, mrr, hits = net.test(*test, batch_size=64, k=10, log=False)
    print(f"{model}: mean rank {rank:.1f} of {people}, mean reciprocal rank {mrr:.3f}, {hits:.3f} among the first ten")
    return hits


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="ComplEx", choices=("TransE", "DistMult", "ComplEx", "RotatE"))
    parser.add_argument("--epochs", type=int, default=40)
    args = parser.parse_args()
    main(args.model, args.epochs)
