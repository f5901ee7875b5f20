"""Lists KubeRay's fields that cluster/kuberay uses, and no others: a misspelt one is found without the CRDs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", max_length=47)]
Quantity = Annotated[str, Field(pattern=r"^[0-9]+(Gi|Ti|m)?$")]
Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$", max_length=63)]


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Metadata(Form):
    name: Name


class KeyOfSecret(Form):
    name: Name
    key: str


class FromSecret(Form):
    secretKeyRef: KeyOfSecret


class Variable(Form):
    name: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
    value: str | None = None
    valueFrom: FromSecret | None = None


class Port(Form):
    name: Annotated[str, Field(pattern=r"^[a-z-]+$", max_length=15)]
    containerPort: Annotated[int, Field(ge=1, le=65535)]


class Resources(Form):
    requests: dict[str, Quantity]
    limits: dict[str, Quantity]


class Mount(Form):
    name: Name
    mountPath: Annotated[str, Field(pattern=r"^/")]


class Container(Form):
    name: Name
    image: str
    env: list[Variable]
    ports: list[Port]
    resources: Resources
    volumeMounts: list[Mount]


class Claim(Form):
    claimName: Name


class EmptyDirectory(Form):
    medium: Literal["Memory"]
    sizeLimit: Quantity


class Volume(Form):
    name: Name
    persistentVolumeClaim: Claim | None = None
    emptyDir: EmptyDirectory | None = None


class Toleration(Form):
    key: str
    operator: Literal["Exists"]
    effect: Literal["NoSchedule"]


class Pod(Form):
    containers: Annotated[list[Container], Field(min_length=1)]
    volumes: list[Volume]
    tolerations: list[Toleration] = []


class Template(Form):
    spec: Pod


class Group(Form):
    rayStartParams: dict[str, str]
    labels: dict[Label, Label]
    template: Template


class WorkerGroup(Group):
    groupName: Name
    minReplicas: Annotated[int, Field(ge=0)]
    replicas: Annotated[int, Field(ge=0)]
    maxReplicas: Annotated[int, Field(ge=1)]


class Auth(Form):
    mode: Literal["token"]
    secretName: Name


class Autoscaler(Form):
    version: Literal["v2"]
    idleTimeoutSeconds: Annotated[int, Field(ge=0)]


class Cluster(Form):
    rayVersion: str
    authOptions: Auth
    enableInTreeAutoscaling: bool
    autoscalerOptions: Autoscaler
    headGroupSpec: Group
    workerGroupSpecs: list[WorkerGroup]


class UpgradeStrategy(Form):
    type: Literal["None"]


class Service(Form):
    upgradeStrategy: UpgradeStrategy
    serveConfigV2: str
    rayClusterConfig: Cluster


class Job(Form):
    clusterSelector: dict[str, Name]
    entrypoint: str
    entrypointNumCpus: Annotated[int, Field(ge=0)]
    runtimeEnvYAML: str


class RayCluster(Form):
    apiVersion: Literal["ray.io/v1"]
    kind: Literal["RayCluster"]
    metadata: Metadata
    spec: Cluster


class RayService(Form):
    apiVersion: Literal["ray.io/v1"]
    kind: Literal["RayService"]
    metadata: Metadata
    spec: Service


class RayJob(Form):
    apiVersion: Literal["ray.io/v1"]
    kind: Literal["RayJob"]
    metadata: Metadata
    spec: Job


FORMS: dict[str, type[Form]] = {"RayCluster": RayCluster, "RayService": RayService, "RayJob": RayJob}


def closed(schema: Any) -> Any:
    """Returns a CRD's schema as the API server applies it under strict validation: it takes no unnamed key."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {key: closed(value) for key, value in schema.items()}
    if "x-kubernetes-int-or-string" in schema:
        return {"type": ["integer", "string"]}
    open_ = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object" and not open_:
        inside["additionalProperties"] = False
    return inside
