"""Check of events by OpenLineage's own classes, which are generated from its schema."""

from collections.abc import Mapping
from typing import Any

import attr
from openlineage.client.generated import base
from openlineage.client.generated.base_subset_dataset import (
    InputSubsetInputDatasetFacet,
    OutputSubsetOutputDatasetFacet,
    Partition,
    PartitionSubsetCondition,
)
from openlineage.client.generated.dataset_version_dataset import DatasetVersionDatasetFacet
from openlineage.client.generated.error_message_run import ErrorMessageRunFacet
from openlineage.client.generated.job_type_job import JobTypeJobFacet
from openlineage.client.generated.parent_run import Job, ParentRunFacet, Run

_FACETS: Mapping[tuple[str, str], type] = {
    ("run", "parent"): ParentRunFacet,
    ("run", "errorMessage"): ErrorMessageRunFacet,
    ("job", "jobType"): JobTypeJobFacet,
    ("dataset", "version"): DatasetVersionDatasetFacet,
    ("input", "subset"): InputSubsetInputDatasetFacet,
    ("output", "subset"): OutputSubsetOutputDatasetFacet,
}


def check(event: Mapping[str, Any]) -> None:
    """Assert that this is a run event of version 2-0-2, including its facets.

    All required fields must be present, and unknown fields are an error.
    """
    assert event["schemaURL"] == base.RunEvent._get_schema()
    run, job = event["run"], event["job"]
    inputs = [_dataset(base.InputDataset, "input", each) for each in event["inputs"]]
    outputs = [_dataset(base.OutputDataset, "output", each) for each in event["outputs"]]
    _made(
        base.RunEvent,
        {key: value for key, value in event.items() if key != "schemaURL"}
        | {
            "eventType": base.EventType(event["eventType"]),
            "run": _made(base.Run, run | {"facets": _facets("run", run.get("facets", {}))}),
            "job": _made(base.Job, job | {"facets": _facets("job", job.get("facets", {}))}),
            "inputs": inputs,
            "outputs": outputs,
        },
    )


def _dataset(kind: type, which: str, words: Mapping[str, Any]) -> Any:
    own = f"{which}Facets"
    found = {**words, "facets": _facets("dataset", words.get("facets", {}))}
    return _made(kind, found | {own: _facets(which, words.get(own, {}))})


def _facets(of: str, words: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _facet(_FACETS[of, name], facet) for name, facet in words.items()}


def _facet(kind: Any, words: Mapping[str, Any]) -> Any:
    assert words["_schemaURL"] == kind._get_schema()
    assert words["_producer"].startswith("urn:")
    own = {name: value for name, value in words.items() if not name.startswith("_")}
    if kind is ParentRunFacet:
        own = {"run": _made(Run, own["run"]), "job": _made(Job, own["job"])}
    for condition in ("inputCondition", "outputCondition"):
        if condition in own:
            partitions = [_made(Partition, each) for each in own[condition]["partitions"]]
            own[condition] = _made(PartitionSubsetCondition, own[condition] | {"partitions": partitions})
    return _made(kind, own)


def _made(kind: Any, words: Mapping[str, Any]) -> Any:
    assert set(words) <= {field.name for field in attr.fields(kind)}
    return kind(**words)
