# Sends one tree with Airflow 3, one task per shard. The workers need the tools, the tree and a common directory for the
# plan and the receipts. A failed shard is retried on any worker and continues where it stopped. This file must not be
# named airflow.py, as that name would hide Airflow itself.
import os
import subprocess
from datetime import timedelta

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

SHARDS = 8
# Exit codes after which a retry is useless. 13: a newer run of the shard has taken over. With the others a retry would
# fail.
FINAL = {1, 12, 13, 40, 41}


def run(*command, **options):
    code = subprocess.run(command, check=False, **options).returncode
    if code in FINAL:
        raise AirflowFailException(f"{command[0]} ended with code {code}")
    if code != 0:
        raise RuntimeError(f"{command[0]} ended with code {code}")


# Only one run at a time: two runs with different plans would leave gaps.
@dag(
    schedule=None,
    max_active_runs=1,
    params={
        "source": "/data/tree",
        "destination": "udtx://udtx-recv:7011/",
        "plan": "/data/plan",
        "receipt": "/data/receipt",
        "key": "/etc/udtx/key",
    },
)
def udtx_send():
    @task
    def plan(params=None):
        made = params["plan"] + ".new"
        with open(made, "wb") as out:
            run("udtx-send", "plan", "-N", str(SHARDS), params["source"], stdout=out)
        os.replace(made, params["plan"])

    @task(retries=6, retry_delay=timedelta(seconds=30))
    def shard(index, params=None):
        run("udtx-send", "--shard", f"{index}/{SHARDS}", "--plan", params["plan"], "--psk-file", params["key"],
            "--timeout", "120", "--receipt", f"{params['receipt']}.{index}", params["source"], params["destination"])

    # Each shard's code is about its own part. This task fails unless all parts came to one destination.
    @task
    def merge(params=None):
        parts = [f"{params['receipt']}.{index}" for index in range(SHARDS)]
        run("udtx-recv", "receipt", "merge", params["receipt"], *parts)

    plan() >> shard.expand(index=list(range(SHARDS))) >> merge()


tree = udtx_send()
