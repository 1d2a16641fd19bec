"""JSON schema of the parts of KEDA's definitions that Sluice uses.

Taken from KEDA 2.17's custom resource definitions (config/crd/bases/keda.sh_scaledobjects.yaml and
keda.sh_triggerauthentications.yaml of github.com/kedacore/keda), and from the parameters of its scalers metrics-api and
rabbitmq (keda.sh/docs/2.17/scalers). All other properties are refused. Before you use another one, add it here.
"""

from typing import Any

_TEXT = {"type": "string", "minLength": 1}
#: The parameters of triggers have numbers as strings.
_NUMBER_TEXT = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}
_NAME = {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"}
_COUNT = {"type": "integer", "minimum": 0}


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


_METADATA = _object("name", name=_NAME, labels={"type": "object", "additionalProperties": _TEXT})
_REFERENCE = _object("name", name=_NAME)
_METRICS_API = _object(
    "url valueLocation targetValue",
    url={"type": "string", "pattern": "^https?://"},
    valueLocation=_TEXT,
    targetValue=_NUMBER_TEXT,
    authMode={"enum": ["apiKey", "basic", "tls", "bearer"]},
)
_RABBITMQ = _object(
    "queueName mode value",
    protocol={"enum": ["auto", "amqp", "http"]},
    queueName=_TEXT,
    mode={"enum": ["QueueLength", "MessageRate"]},
    value=_NUMBER_TEXT,
)


def _trigger(type_: str, metadata: dict[str, Any]) -> dict[str, Any]:
    return _object(
        "type metadata authenticationRef",
        type={"const": type_},
        metadata=metadata,
        authenticationRef=_REFERENCE,
    )


SCALED_OBJECT = _object(
    "apiVersion kind metadata spec",
    apiVersion={"const": "keda.sh/v1alpha1"},
    kind={"const": "ScaledObject"},
    metadata=_METADATA,
    spec=_object(
        "scaleTargetRef triggers",
        scaleTargetRef=_REFERENCE,
        pollingInterval=_COUNT,
        cooldownPeriod=_COUNT,
        minReplicaCount=_COUNT,
        maxReplicaCount=_COUNT,
        fallback=_object(
            "failureThreshold replicas",
            failureThreshold=_COUNT,
            replicas=_COUNT,
            behavior={
                "enum": ["static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"]
            },
        ),
        advanced=_object(
            "",
            horizontalPodAutoscalerConfig=_object(
                "", behavior=_object("", scaleDown=_object("", stabilizationWindowSeconds=_COUNT))
            ),
        ),
        triggers={
            "type": "array",
            "minItems": 1,
            "items": {"oneOf": [_trigger("metrics-api", _METRICS_API), _trigger("rabbitmq", _RABBITMQ)]},
        },
    ),
)
TRIGGER_AUTHENTICATION = _object(
    "apiVersion kind metadata spec",
    apiVersion={"const": "keda.sh/v1alpha1"},
    kind={"const": "TriggerAuthentication"},
    metadata=_METADATA,
    spec=_object(
        "secretTargetRef",
        secretTargetRef={
            "type": "array",
            "items": _object("parameter name key", parameter=_TEXT, name=_NAME, key=_TEXT),
        },
    ),
)
SCHEMAS = {"ScaledObject": SCALED_OBJECT, "TriggerAuthentication": TRIGGER_AUTHENTICATION}
