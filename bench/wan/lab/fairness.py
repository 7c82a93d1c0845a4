"""Measures the shares of several flows on one link."""
import time
from dataclasses import dataclass, field

import figures
import net
import tools
from sampler import Sampler

JUDGED_SECONDS = 10.0  # at the end of a run, at least
LEAST_SECONDS = JUDGED_SECONDS + 5.0


@dataclass
class Member:
    tool: object
    starts: float = 0.0      # seconds after the first flow
    extra_rtt: float = 0.0   # ms


@dataclass
class Scenario:
    name: str
    members: list
    rate: float = 100.0
    rtt: float | None = None  # None: the RTT that the caller asks for
    queue: float | None = None
    seconds: float = 40.0
    judged_from: float = 20.0
    settings: dict = field(default_factory=dict)

    def line(self, seed):
        hosts = [f"{i}:delay={m.extra_rtt / 2}ms" for i, m in enumerate(self.members, 1) if m.extra_rtt]
        arguments = ["--both", f"rate={self.rate}M,delay={self.rtt / 2}ms,queue={self.queue}bdp", "--seed", str(seed)]
        return arguments + [word for host in hosts for word in ("--host", host)]


def scenarios(bench, controller, rate, rtt, queue, seconds):
    """The scenarios that judge a controller's fairness, on a link of `rate` Mbit/s, `rtt` ms and `queue` BDP. Members
    of a scenario start 0.2 s apart unless it says otherwise."""
    def ours(**named):
        return Member(tools.Udtx(bench, controller), **named)

    def peer(name):
        return Member(tools.Tcp(bench, name), starts=2.0)

    low = Member(tools.Udtx(bench, controller, ("--policy", "low")))
    listed = [Scenario(f"{n} flows", [ours(starts=0.2 * i) for i in range(n)]) for n in (2, 5, 10)]
    listed.append(Scenario("latecomer", [ours(), ours(starts=20.0)], judged_from=30.0))
    listed.append(Scenario("RTT 20 and 200 ms", [ours(), ours(extra_rtt=180.0)], rtt=20.0, queue=5.0))
    listed += [Scenario(f"beside {name}", [ours(), peer(name)]) for name in ("cubic", "bbr")]
    listed += [Scenario(f"low beside {name}", [low, peer(name)]) for name in ("cubic", "bbr")]
    listed.append(Scenario("low beside udtx", [low, ours(starts=2.0)]))
    for scenario in listed:
        if scenario.rtt is None:
            scenario.rtt, scenario.queue = rtt, queue
        scenario.rate, scenario.seconds = rate, seconds
        scenario.judged_from = min(scenario.judged_from, seconds - JUDGED_SECONDS)
    return listed


def run(bench, scenario, seed):
    """Runs a scenario. Returns the flows' shares, and for a plot the series of each flow and of the queue."""
    size = int(scenario.rate * 1e6 / 8 * (scenario.seconds + 5))
    source = bench.source(size)
    with net.EmulatedLine(bench.emulator, scenario.line(seed), bench.work, len(scenario.members)) as line, \
            Sampler() as sampler:
        begin = time.monotonic()
        flows = []
        for member in sorted(scenario.members, key=lambda m: m.starts):
            time.sleep(max(0.0, begin + member.starts - time.monotonic()))
            host = scenario.members.index(member) + 1
            left = scenario.seconds - (time.monotonic() - begin)
            flows.append(member.tool.start(line, sampler, source, left, host=host))
        time.sleep(max(0.0, begin + scenario.seconds - time.monotonic()))
        end = time.monotonic()
        dead = [flow for flow in flows if flow.sender.poll() is not None]
        for flow in flows:
            flow.stop()
        report = line.stop_emulator()
    for flow in dead:
        print(f"ended early: {flow.complaint()}", flush=True)
    trace = figures.LineTrace(line.trace)
    lines = [(f"{flow.tool.name} {i}", figures.series(flow.samples, begin, end, 1.0)) for i, flow in enumerate(flows, 1)]
    queue = [(row["time"] - begin, row["queue_bytes"]) for row in trace.window(begin, end)]
    return judge(scenario, flows, begin, end, [flow.tool.name for flow in dead], trace, report), lines, queue


def judge(scenario, flows, begin, end, dead, trace, report):
    start = begin + scenario.judged_from
    rates = [figures.stepped_rate(flow.samples, start, end) / 1e6 for flow in flows]
    total = sum(rates)
    latecomer = max(flows, key=lambda flow: flow.began)
    settled = None
    if scenario.name == "latecomer":
        others = [flow.samples for flow in flows if flow is not latecomer]
        settled = figures.settles_after(latecomer.samples, others, latecomer.began, 1.0 / len(flows), 0.1, 2.0,
                                        end - latecomer.began)
    return {
        "scenario": scenario.name, "tools": " + ".join(flow.tool.name for flow in flows), "rate": scenario.rate,
        "jain": figures.jain(rates), "min_max": min(rates) / max(rates) if max(rates) > 0 else None,
        "first_share": rates[0] / total if total > 0 else None, "total_mbps": total,
        "wait_ms": trace.mean_wait_ms(start, end), "settled_s": settled, "ended_early": " ".join(dead),
        "late_p99_us": report["late_us"]["p99"],
    }
