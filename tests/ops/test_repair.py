"""What `sluice db check` and `sluice db repair` say of a ledger that somebody has written to by hand."""

from ops.cli.main import main
from tests.ops.site import Site


def test_what_can_be_repaired_is(site: Site) -> None:
    site.chain("a -> b")
    site.world.submit("b")
    damage = "UPDATE gate SET unmet = 7"
    assert site.world.ledger.transact(lambda tx: tx.write(damage)) == 1
    (breach,) = site.says("db", "check", code=1)["breaches"]
    assert (breach["rule"], breach["rows"]) == ("gates count what their needs say", [2])
    assert "`sluice db repair`" in breach["repair"]
    assert site.says("db", "repair") == {"repaired": ["gates count what their needs say"], "breaches": []}
    assert site.says("db", "check") == {"breaches": []}
    assert site.says("db", "repair") == {"repaired": [], "breaches": []}


def test_what_cannot_be_repaired_is_told(site: Site) -> None:
    astray = "INSERT INTO partition (place, version, partition, job) VALUES ('a', '', 1, 999)"
    assert site.world.ledger.transact(lambda tx: tx.write(astray)) == 1
    for word in ("check", "repair"):
        said = site.says("db", word, code=1)["breaches"]
        assert [("dump" in each["repair"], "db repair" in each["repair"]) for each in said] == [(True, False)]
    assert main(["db", "check"]) == 1
    site.world.ledger.transact(lambda tx: tx.write("DELETE FROM partition"))
