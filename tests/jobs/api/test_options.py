"""The typed options, compared with the options that the catalogue reads."""

from typing import get_type_hints

import pytest

from sluice.jobs.api.options import (
    About,
    AppOptions,
    ConcurrencyOptions,
    LimitOptions,
    PolicyOptions,
    RequestOptions,
    RetryOptions,
    SagaAppOptions,
    ScheduleOptions,
)
from sluice.jobs.catalogue.fields.app_options import WORDS
from sluice.jobs.catalogue.fields.policy_options import POLICY_WORDS
from sluice.jobs.catalogue.fields.schedule_options import REQUEST_WORDS, TIMING_WORDS
from sluice.jobs.catalogue.fields.work_options import SAGA_WORDS
from sluice.jobs.policy.retry_delay import RETRY_FIELDS

#: Options of files that Python has in another way: the decorated function, and one of two names.
_OF_FILES = {"function", "job_id_template"}
_OF_PYTHON = {"name", "needs"}


def _names(*options: type) -> set[str]:
    return {name for each in options for name in get_type_hints(each)}


def test_every_option_of_an_app_is_typed() -> None:
    assert _names(AppOptions, SagaAppOptions) == {*WORDS} - _OF_FILES | _OF_PYTHON


def test_a_saga_has_no_options_of_other_keys_or_types() -> None:
    assert _names(SagaAppOptions) - _names(AppOptions) == {*SAGA_WORDS}


def test_every_option_of_a_policy_is_typed() -> None:
    assert _names(PolicyOptions) == {*POLICY_WORDS}


def test_every_option_of_a_schedule_is_typed() -> None:
    assert _names(RequestOptions) == {*REQUEST_WORDS} - {"app"}
    assert _names(ScheduleOptions) == {*REQUEST_WORDS, *TIMING_WORDS} - {"app"}


def test_every_option_of_a_mapping_is_typed() -> None:
    assert _names(RetryOptions) == {*RETRY_FIELDS} - {"within"}
    assert _names(ConcurrencyOptions) == {"limit", "key", "pool"}
    assert _names(LimitOptions) == {"cpu", "memory", "file_size", "processes", "open_files"}


@pytest.mark.parametrize("options", [AppOptions, SagaAppOptions, ScheduleOptions])
def test_every_option_is_described_in_one_sentence_with_an_example(options: type) -> None:
    for name, hint in get_type_hints(options, include_extras=True).items():
        (about,) = hint.__metadata__
        assert isinstance(about, About)
        assert about.text.endswith("."), name
        assert about.example, name
