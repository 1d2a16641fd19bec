"""Check of tables that are made by jobs with keys: all jobs of one day together make the partition of this day.

So the key must have exactly one identifier that is a date, and the definitions must determine which jobs a day has.
"""

from collections.abc import Mapping

from sluice.jobs.catalogue.errors import At
from sluice.jobs.catalogue.resolve.dependency_links import Alternative
from sluice.jobs.model.app import App


def check_tables_of_days(
    apps: Mapping[str, App], alternatives: Mapping[str, tuple[Alternative, ...]], at: Mapping[str, At]
) -> None:
    """Add a fault for each app of which the jobs of a day are not determined."""
    for app in apps.values():
        if app.table_of_days is None:
            continue
        within = at[app.name].inside("output_table")
        if len(app.days) != 1:
            has = f"has several: {', '.join(app.days)}" if app.days else "has none"
            within.add(
                f"its key must have exactly one identifier that is a date, and {has};"
                " to fill partitions of another unit, give the app a partition instead of a job_id"
            )
            continue
        for values in [each.domains for each in alternatives.get(app.name, ())] or [app.autofill]:
            lacking = [name for name in app.template.names if name not in app.days and not values.get(name)]
            if lacking:
                within.add(
                    f"all jobs of a day make its partition, and it is undefined which {' and '.join(lacking)} they"
                    " have; write autofill_values"
                )
                break
