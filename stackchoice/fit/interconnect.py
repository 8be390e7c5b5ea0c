"""What splitting one replica over devices costs on the link between them.

Tensor parallelism ends attention and feed-forward of every layer with an all-reduce of the hidden
state (Shoeybi and others 2019, arXiv 1909.08053, section 3). An all-reduce of ``S`` bytes among
``n`` devices takes at best ``S / B x 2 (n - 1) / n`` over a link of ``B`` bytes a second, whatever
the algorithm (NCCL tests, doc/PERFORMANCE.md), and never less than the shortest one reported.
"""

from stackchoice.facts.links import LinkPath

#: All-reduces of one layer in a forward pass: after attention and after the feed-forward.
ALL_REDUCES_A_LAYER = 2

#: Bytes of one value of the hidden state: engines reduce in 16 bits.
HIDDEN_BYTES = 2

#: Copies of every byte where devices cannot write into each other: into the host, and out of it.
STAGED = 2


def all_reduce_seconds(
    size_bytes: float, devices: int, path: LinkPath, *, direct: bool = True
) -> float:
    """Return the least seconds of one all-reduce of ``size_bytes`` among ``devices``.

    Parameters
    ----------
    direct
        Whether devices reach each other's memory; else all goes through that of the host.
    """
    times = 1 if direct else STAGED
    moved = size_bytes * 2 * (devices - 1) / devices
    return times * (moved / (path.gb_per_s * 1e9) + path.all_reduce_us * 1e-6)


def tensor_parallel_seconds(
    layers: float,
    hidden: float,
    devices: int,
    path: LinkPath,
    *,
    tokens: int = 1,
    direct: bool = True,
) -> float:
    """Return the least seconds a token costs on the link when ``tokens`` are reduced at once."""
    reduces = ALL_REDUCES_A_LAYER * layers
    size = tokens * hidden * HIDDEN_BYTES
    return reduces * all_reduce_seconds(size, devices, path, direct=direct) / tokens


def pipeline_speedup(devices: int, chunks: int) -> float:
    """Return how many devices work at once when ``chunks`` pass through them layer by layer.

    ``devices x chunks / (chunks + devices - 1)``: the pipeline fills and drains (Huang and others
    2019, GPipe, arXiv 1811.06965, section 2.3). One chunk keeps one device busy.
    """
    return devices * chunks / (chunks + devices - 1)
