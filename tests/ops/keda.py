"""JSON schema of the parts of KEDA's definitions that Sluice uses.

Taken from KEDA 2.17's custom resource definitions (config/crd/bases/keda.sh_scaledobjects.yaml and
keda.sh_triggerauthentications.yaml of github.com/kedacore/keda), and from the parameters of its scaler metrics-api
(keda.sh/docs/2.17/scalers). All other properties are refused. Before you use another one, add it here.
"""

from typing import Any

TEXT = {"type": "string", "minLength": 1}
#: The parameters of triggers have numbers as strings.
_NUMBER_TEXT = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}
_NAME = {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"}
_COUNT = {"type": "integer", "minimum": 0}


def object_of(required: str, **properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these properties, some of which are required, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


METADATA = object_of(
    "name", name=_NAME, namespace=_NAME, labels={"type": "object", "additionalProperties": TEXT}
)
_REFERENCE = object_of("name", name=_NAME)
_METRICS_API = object_of(
    "url valueLocation targetValue",
    url={"type": "string", "pattern": "^https?://"},
    valueLocation=TEXT,
    targetValue=_NUMBER_TEXT,
    authMode={"enum": ["apiKey", "basic", "tls", "bearer"]},
)


def _trigger(type_: str, metadata: dict[str, Any]) -> dict[str, Any]:
    return object_of(
        "type metadata authenticationRef",
        type={"const": type_},
        metadata=metadata,
        authenticationRef=_REFERENCE,
    )


SCALED_OBJECT = object_of(
    "apiVersion kind metadata spec",
    apiVersion={"const": "keda.sh/v1alpha1"},
    kind={"const": "ScaledObject"},
    metadata=METADATA,
    spec=object_of(
        "scaleTargetRef triggers",
        scaleTargetRef=_REFERENCE,
        pollingInterval=_COUNT,
        cooldownPeriod=_COUNT,
        minReplicaCount=_COUNT,
        maxReplicaCount=_COUNT,
        fallback=object_of(
            "failureThreshold replicas",
            failureThreshold=_COUNT,
            replicas=_COUNT,
            behavior={
                "enum": ["static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"]
            },
        ),
        advanced=object_of(
            "",
            horizontalPodAutoscalerConfig=object_of(
                "", behavior=object_of("", scaleDown=object_of("", stabilizationWindowSeconds=_COUNT))
            ),
        ),
        triggers={
            "type": "array",
            "minItems": 1,
            "items": _trigger("metrics-api", _METRICS_API),
        },
    ),
)
TRIGGER_AUTHENTICATION = object_of(
    "apiVersion kind metadata spec",
    apiVersion={"const": "keda.sh/v1alpha1"},
    kind={"const": "TriggerAuthentication"},
    metadata=METADATA,
    spec=object_of(
        "secretTargetRef",
        secretTargetRef={
            "type": "array",
            "items": object_of("parameter name key", parameter=TEXT, name=_NAME, key=TEXT),
        },
    ),
)
SCHEMAS = {"ScaledObject": SCALED_OBJECT, "TriggerAuthentication": TRIGGER_AUTHENTICATION}
