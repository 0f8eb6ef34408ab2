"""Replay a shipped data set through a running service, with labels that come late.

    vvm learn spambase --model spam.vvm
    vvm serve --model spam.vvm &
    python examples/replay.py spambase --address http://127.0.0.1:8750

Each row is asked about first; its label follows when a random number of other rows has come, now
and then twice, as labels do. The page of the service shows how it goes.
"""

from __future__ import annotations

import argparse
import heapq
import random

from virtualvector.serve.client import Client
from virtualvector.streams import open_rows


def replay(source: str, client: Client, n_rows: int, delay: int, seed: int = 0) -> float:
    """Ask about rows and bring their labels later; return the share of answers that were wrong."""
    rng, wrong, n_asked = random.Random(seed), 0, 0
    late: list[tuple[int, str, str]] = []  # when a label comes, of which id
    with open_rows([source], seed=seed) as reader:
        for batch in reader:
            for row, label in zip(batch.table.to_pylist(), batch.labels.tolist(), strict=True):
                if n_asked == n_rows:
                    break
                answer = client.predict(row, f"{source}-{seed}-{n_asked}")
                wrong += answer["label"] != label
                n_asked += 1
                heapq.heappush(late, (n_asked + rng.randrange(1, delay + 1), answer["id"], label))
                while late and late[0][0] <= n_asked:
                    bring(client, *heapq.heappop(late)[1:], rng)
    for _, own, label in sorted(late):
        bring(client, own, label, rng)
    return wrong / max(n_asked, 1)


def bring(client: Client, own: str, label: str, rng: random.Random) -> None:
    """Bring a label, now and then twice."""
    for _ in range(2 if rng.random() < 0.1 else 1):
        client.label(own, label)


def main() -> None:
    """Replay what was asked for, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", help="spambase, thyroid or ionosphere, or a file of rows")
    parser.add_argument("--address", default="http://127.0.0.1:8750")
    parser.add_argument("--token")
    parser.add_argument("--rows", type=int, default=1000, help="at the most")
    parser.add_argument("--delay", type=int, default=200, help="rows that a label may be late")
    options = parser.parse_args()
    client = Client(options.address, options.token)
    wrong = replay(options.source, client, options.rows, options.delay)
    print(f"{100 * wrong:.1f} % of answers were wrong")


if __name__ == "__main__":
    main()
