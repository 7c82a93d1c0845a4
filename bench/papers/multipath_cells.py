"""The cells of the multipath papers: transmission status monitoring (tsm), delay-alerted path blocking (dapb) and
SCTP's failover (sctp). docs/lab/paper-multipath.md lists the parameters that the papers leave open and the values
used."""
from dataclasses import dataclass

# (name in the tables, arguments). The papers' schedulers do not reinject. `eds` is udtx's default and reinjects.
OFF, ON = ("--reinject", "false"), ("--reinject", "true")
RR, MINRTT, DAPB, EDS = (("--scheduler", name) for name in ("rr", "minrtt", "dapb", "eds"))
DEFAULT = ("eds, udtx", (*EDS, *ON, "--controller", "udtx"))
TSM_WAYS = [("rr", (*RR, *OFF)), ("rr, reinjection", (*RR, *ON)), ("minrtt", (*MINRTT, *OFF)),
            ("minrtt, reinjection", (*MINRTT, *ON)), ("eds", (*EDS, *ON)), DEFAULT]
DAPB_WAYS = [("rr", (*RR, *OFF)), ("minrtt", (*MINRTT, *OFF)), ("dapb", (*DAPB, *OFF)), ("eds", (*EDS, *ON)), DEFAULT]
SCTP_WAYS = [("without", ("--silent-path-rule", "false")), ("with", ("--silent-path-rule", "true"))]
RATES = (100, 80, 50, 20, 10)
DELAYS = (10, 20, 40, 50, 80, 100)
ERROR_RATES = tuple(range(0, 101, 10))
ERROR_SECONDS = (3, 4, 6, 8, 10)
ERRORS_FROM = (10, 40, 70)


@dataclass(frozen=True)
class Cell:
    experiment: str  # tsm, dapb or sctp
    figure: str      # number of the paper's figure
    name: str
    x: float         # the value that the figure varies
    ways: tuple
    args: tuple
    samples: bool = True  # keep the samples for the figures

    @property
    def slug(self):
        return "".join(c if c.isalnum() else "-" for c in f"{self.experiment}-{self.figure}-{self.name}")


def option(name, **fields):
    return (f"--{name}", ",".join(f"{key}={value:g}" for key, value in fields.items()))


def tsm_cell():
    """Two links of 10 Mbit/s and 10 ms. The second link's router has a long queue that drops nothing, and carries
    UDP."""
    args = (*option("line", mbps=10, delay_ms=10), *option("line", mbps=10, delay_ms=10, queue=20000),
            *option("cross", line=1, from_s=10, to_s=20, peak_mbps=23, mean_mbps=16),
            *option("cross", line=1, from_s=35, to_s=43, peak_mbps=25, mean_mbps=17.5),
            "--payload", "1400", "--window", "3000", "--seconds", "60")
    return Cell("tsm", "7-8", "two of 10 Mbit/s", 0, tuple(TSM_WAYS), args)


# The papers' "10 ms" are taken as round trips. The receive buffer of 0.4 MB is derived from the paper's 27.5 Mbit/s.
DAPB_COMMON = ("--payload", "1472", "--window", "280")


def pair_cell(figure, name, x, second):
    args = (*option("line", mbps=100, delay_ms=5), *second, *DAPB_COMMON, "--seconds", "8")
    return Cell("dapb", figure, name, x, tuple(DAPB_WAYS), args, samples=False)


def rate_cell(mbps):
    return pair_cell("8", f"{mbps} Mbit/s", mbps, option("line", mbps=mbps, delay_ms=5))


def delay_cell(ms):
    return pair_cell("9", f"{ms} ms", ms, option("line", mbps=100, delay_ms=ms / 2))


def ramp_cell():
    ramps = [(1, 20, 30, 1000), (1, 30, 40, 5), (0, 60, 70, 1000), (0, 70, 80, 5)]
    lines = option("line", mbps=50, delay_ms=5) * 2
    args = sum((option("ramp", line=i, from_s=a, to_s=b, delay_ms=d) for i, a, b, d in ramps), lines)
    return Cell("dapb", "10", "ramps to 2,000 ms", 0, tuple(DAPB_WAYS), (*args, *DAPB_COMMON, "--seconds", "100"))


def single_cell():
    """A connection over one of the two links of figure 10."""
    args = (*option("line", mbps=50, delay_ms=5), *DAPB_COMMON, "--seconds", "20")
    return Cell("dapb", "10", "one line alone", 0, (("eds", EDS), DEFAULT), args, samples=False)


def error_cell(seconds, rate):
    lines = (*option("line", mbps=2, delay_ms=200, queue=50, access_queue=50),
             *option("line", mbps=0.384, delay_ms=200, queue=50, access_queue=50))
    errors = sum((option("errors", line=0, from_s=a, to_s=a + seconds, rate=rate / 100) for a in ERRORS_FROM), ())
    args = (*lines, *errors, "--failover", "--couple", "false", "--payload", "1472", "--window", "3000",
            "--seconds", "100")
    return Cell("sctp", "7-10", f"{seconds} s, {rate} %", rate, tuple(SCTP_WAYS), args, samples=False)


def all_cells():
    return ([tsm_cell()] + [rate_cell(r) for r in RATES] + [delay_cell(d) for d in DELAYS] + [ramp_cell(), single_cell()]
            + [error_cell(s, r) for s in ERROR_SECONDS for r in ERROR_RATES])


def quick_cells():
    """Some cells of each experiment. They take less than a minute."""
    return [tsm_cell(), rate_cell(50), delay_cell(80), error_cell(4, 100)]
