"""JSON schema of the parts of a ServiceMonitor that Sluice uses.

Taken from the definition of monitoring.coreos.com/v1 of the Prometheus Operator 0.80
(example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml). All other properties are refused. Before
you use another one, add it here.
"""

from typing import Any

from tests.ops.keda import METADATA, TEXT, object_of

_RELABELING = object_of(
    "action",
    action={"enum": ["replace", "labeldrop"]},
    targetLabel=TEXT,
    replacement=TEXT,
    regex=TEXT,
)
_ENDPOINT = object_of(
    "port path",
    port=TEXT,
    path=TEXT,
    interval={"type": "string", "pattern": "^[0-9]+(ms|s|m|h)$"},
    authorization=object_of(
        "type credentials", type=TEXT, credentials=object_of("name key", name=TEXT, key=TEXT)
    ),
    relabelings={"type": "array", "items": _RELABELING},
)
SERVICE_MONITOR: dict[str, Any] = object_of(
    "apiVersion kind metadata spec",
    apiVersion={"const": "monitoring.coreos.com/v1"},
    kind={"const": "ServiceMonitor"},
    metadata=METADATA,
    spec=object_of(
        "selector endpoints",
        selector=object_of("matchLabels", matchLabels={"type": "object", "additionalProperties": TEXT}),
        endpoints={"type": "array", "minItems": 1, "items": _ENDPOINT},
    ),
)
