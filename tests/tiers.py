"""Which test belongs to which tier: ``make test``, ``make check`` or ``make night``.

The longest path that matches a test's file decides. ``tests/style/test_tiers.py`` holds this table to the folder.
"""

from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent
TIERS = ("test", "check", "night")

#: By path below ``tests``, a folder's without an ending.
PATHS: Mapping[str, str] = {
    "acceptance": "test",
    "acceptance/test_ages.py": "check",
    "acceptance/test_alternatives.py": "check",
    "acceptance/test_chunks_at_once.py": "check",
    "acceptance/test_push_and_pull.py": "check",
    "acceptance/test_starts.py": "check",
    "actors": "test",
    "actors/test_hostile_messages.py": "check",
    "actors/test_opening.py": "check",
    "broker": "check",
    "chaos": "night",
    "chaos/test_chaos.py": "check",
    "chaos/test_checker.py": "check",
    "console": "night",
    "console/test_files.py": "check",
    "console/test_live.py": "check",
    "console/test_screens.py": "check",
    "crashes": "night",
    "installed": "check",
    "jobs": "test",
    "jobs/managers": "check",
    "jobs/programs": "check",
    "jobs/programs/test_sources.py": "test",
    "jobs/runners": "check",
    "jobs/runners/test_runners_bash.py": "test",
    "jobs/runners/test_runners_python.py": "test",
    "ledger": "test",
    "ledger/embedded": "check",
    "ledger/embedded/test_one_user.py": "test",
    "ledger/test_bisecting.py": "check",
    "ledger/test_bisecting_races.py": "check",
    "ledger/test_bisecting_through_trouble.py": "check",
    "ledger/test_breaker_races.py": "check",
    "ledger/test_collecting_races.py": "check",
    "ledger/test_compensating_races.py": "check",
    "ledger/test_demand.py": "check",
    "ledger/test_dialling.py": "check",
    "ledger/test_finding.py": "check",
    "ledger/test_generations.py": "check",
    "ledger/test_given_up.py": "check",
    "ledger/test_many_connections.py": "check",
    "ledger/test_pausing_races.py": "check",
    "ledger/test_pool_races.py": "check",
    "ledger/test_pruned_plans.py": "check",
    "ledger/test_pruning_races.py": "check",
    "ledger/test_races.py": "check",
    "ledger/test_roles.py": "check",
    "ledger/test_saga_races.py": "check",
    "ledger/test_stale_races.py": "check",
    "ledger/test_step_races.py": "check",
    "ledger/test_tallies.py": "check",
    "ledger/test_urgency_races.py": "check",
    "ledger/test_watching_races.py": "check",
    "live": "night",
    "live/test_killed_workers.py": "check",
    "live/test_outages.py": "check",
    "live/test_programs.py": "check",
    "ops": "check",
    "ops/simulation/test_testing_page.py": "night",
    "ops/test_alerts.py": "night",
    "ops/test_apps_by_chunk.py": "test",
    "ops/test_apps_by_partition.py": "test",
    "ops/test_bench.py": "night",
    "ops/test_completion.py": "night",
    "ops/test_console_page_of_docs.py": "night",
    "ops/test_contest.py": "night",
    "ops/test_dashboards.py": "night",
    "ops/test_deploy_compose.py": "night",
    "ops/test_deploy_kubernetes.py": "night",
    "ops/test_deploy_systemd.py": "night",
    "ops/test_editing.py": "night",
    "ops/test_feature_pipeline.py": "night",
    "ops/test_image.py": "night",
    "ops/test_listing_page.py": "night",
    "ops/test_observe_page.py": "night",
    "ops/test_plan.py": "test",
    "ops/test_programs.py": "test",
    "ops/test_readme.py": "night",
    "ops/test_relation.py": "test",
    "ops/test_runbook.py": "night",
    "ops/test_sagas.py": "test",
    "ops/test_sagas_page.py": "night",
    "ops/test_sbom.py": "night",
    "ops/test_site.py": "night",
    "ops/test_sum_example.py": "night",
    "ops/test_tutorial.py": "night",
    "ops/test_why.py": "test",
    "ops/test_work.py": "test",
    "planner": "test",
    "scheduler": "test",
    "simulation": "night",
    "simulation/test_short.py": "test",
    "simulation/test_simulation.py": "check",
    "soak": "night",
    "style": "test",
    "test_browser.py": "check",
    "test_leftovers.py": "check",
    "test_leftovers_of_long_runs.py": "night",
    "test_private_servers.py": "check",
    "test_servers.py": "check",
}


def tier(path: Path) -> str | None:
    """The tier of a test file; None if no entry of the table covers it."""
    name = path.relative_to(ROOT).as_posix()
    while name != ".":
        if name in PATHS:
            return PATHS[name]
        name = Path(name).parent.as_posix()
    return None
