"""Run by a Python that has mlflow: its own client reads all runs of an experiment.

python read_by_mlflow.py TRACKING_URI EXPERIMENT
"""

from __future__ import annotations

import json
import sys

from mlflow import MlflowClient


def main(uri: str, experiment: str) -> None:
    client = MlflowClient(tracking_uri=uri)
    runs = client.search_runs([client.get_experiment_by_name(experiment).experiment_id])
    told = [
        {
            "name": run.info.run_name,
            "status": run.info.status,
            "params": run.data.params,
            "metrics": {
                key: [[one.step, one.value] for one in client.get_metric_history(run.info.run_id, key)]
                for key in run.data.metrics
            },
        }
        for run in runs
    ]
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
