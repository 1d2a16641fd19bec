"""Sources of settings: the origin of each text, and files with secrets.

``FoundSettings`` has the settings as they were found: each name with its text, and the place that determined it.
``named`` yields the files with secrets that settings name: keys and passwords. They give access to the servers of this
installation.
"""

import ast
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import Struct

from sluice.jobs.errors import BadSetting

T = TypeVar("T")

PREFIX = "SLUICE_"
#: Suffix of a variable that contains the path of a file. The text of that file is the setting.
OF_A_FILE = "_FILE"
#: Places of settings, in ascending order of precedence.
TOML, DOTENV, ENVIRONMENT, COMMAND_LINE = "sluice.toml", ".env", "the environment", "the command line"


class SettingDefinition(Struct, frozen=True):
    """A setting that exists: its name, its default, and an example."""

    name: str
    default: object
    example: str


class FoundSettings:
    """Settings by name. ``take`` reads a setting; ``asked`` has all settings that were ever taken."""

    def __init__(self, places: Mapping[str, Mapping[str, str]], *, folder: Path) -> None:
        """Merge the texts of all places. ``places`` has them by the name of the place, in ascending order of
        precedence. Paths are relative to ``folder``."""
        self.texts: dict[str, str] = {}
        self.origins: dict[str, str] = {}
        self.asked: dict[str, SettingDefinition] = {}
        #: Files that settings were read from, including files that a place of higher precedence overrides.
        self.files: list[Path] = []
        for place, texts in places.items():
            self.texts |= texts
            self.origins |= dict.fromkeys(texts, place)
            self._read_files(place, texts, folder)

    def _read_files(self, place: str, texts: Mapping[str, str], folder: Path) -> None:
        """Read each setting that this place gives as the path of a file, for example a secret of systemd or Compose."""
        for given in [name for name in texts if name.startswith(PREFIX) and name.endswith(OF_A_FILE)]:
            name, path = given.removesuffix(OF_A_FILE), self.texts.pop(given)
            if not path:
                continue
            if texts.get(name):
                raise BadSetting(
                    f"{name} and {given} are both set, but only one may be set.",
                    where="" if place == ENVIRONMENT else place,
                    advice=f"Remove {name}.",
                )
            file = folder / path
            self.texts[name] = _text_of(file, given, place)
            self.origins[name] = f"the file {file}"
            self.files.append(file)

    def take(self, name: str, parse: Callable[[str], T], default: T, example: str) -> T:
        """Return the value of a setting. The name is given without the prefix. BadSetting for an invalid value."""
        self.asked[PREFIX + name] = SettingDefinition(PREFIX + name, default, example)
        text = self.texts.get(PREFIX + name)
        if text is None or text == "":
            return default
        try:
            return parse(text)
        except ValueError as error:
            place = self.origins[PREFIX + name]
            raise BadSetting(
                f"{PREFIX}{name}: {error}",
                where="" if place == ENVIRONMENT else place,
                advice=f"For example {PREFIX}{name}={example}",
            ) from None


def find(
    environment: Mapping[str, str], *, folder: Path, given: Mapping[str, str | None] = {}
) -> FoundSettings:
    """Return the settings of a process that was started in this folder. ``given`` has the options of its command
    line."""
    return FoundSettings(
        {
            TOML: _toml(folder / TOML),
            DOTENV: _dotenv(folder / DOTENV),
            ENVIRONMENT: environment,
            COMMAND_LINE: {name: text for name, text in given.items() if text is not None},
        },
        folder=folder,
    )


def _text_of(file: Path, given: str, place: str) -> str:
    """Return the text of a file that a setting names. BadSetting for an empty file: a secret that was not written must
    not count as a setting that is not set."""
    try:
        text = file.read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text"
        why = f"cannot be read: {reason}"
    else:
        if text.strip():
            return text
        why = "is empty"
    raise BadSetting(f"{given}: the file {file} {why}.", where="" if place == ENVIRONMENT else place)


def _toml(path: Path) -> dict[str, str]:
    """Read ``sluice.toml``. It has the same names in lower case without the prefix: ``ledger_url = "…"``."""
    if not path.is_file():
        return {}
    try:
        words = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise BadSetting(f"{path}: {error}") from None
    return {
        PREFIX + word.upper(): ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for word, value in words.items()
    }


def _dotenv(path: Path) -> dict[str, str]:
    """Read lines ``NAME=value``. ``#`` begins a comment; quotes around a value are removed."""
    if not path.is_file():
        return {}
    lines = (line.strip().removeprefix("export ") for line in path.read_text().splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name.strip(): value.strip().strip("'\"") for name, _, value in pairs}


#: Secret files in a Postgres address and in the environment of libpq. An authority's certificate is not secret.
_OF_POSTGRES = re.compile(r"[?&](?:sslkey|passfile|servicefile)=([^&]*)")
_IN_ENVIRONMENT = ("PGSSLKEY", "PGPASSFILE", "PGSERVICEFILE", "CREDENTIALS_DIRECTORY")
#: Secret files in a broker's address, and in the dictionary that RabbitMQ's address may contain. The file of a
#: certificate also has the key if no key file is named, and often if one is.
_OF_BROKERS = ("ssl_keyfile", "ssl_certfile")
_IN_SSL_OPTIONS = ("keyfile", "certfile")
_FILE = "file:"


def named(texts: Mapping[str, str], apps: Sequence[str]) -> Iterator[str]:
    """Yield each path as it is written in the settings, the environment, and the sources of definitions."""
    yield from filter(None, [of_keys(texts.get(f"{PREFIX}MESSAGE_KEYS", ""))])
    yield from filter(None, [texts.get(f"{PREFIX}CONSOLE_TOKENS")])
    yield from filter(None, map(texts.get, _IN_ENVIRONMENT))
    # Searched as a text and not parsed, because libpq accepts addresses that URL parsers do not.
    for name in ("LEDGER_URL", "LEDGER_POOLER_URL"):
        yield from filter(None, map(unquote, _OF_POSTGRES.findall(texts.get(PREFIX + name, ""))))
    for url in (texts.get(f"{PREFIX}BROKER_URL", ""), *apps):
        yield from _of_broker(url)


def of_keys(text: str) -> str | None:
    """Return the path of the file with the message keys, or None if they are not in a file."""
    return text.removeprefix(_FILE) if text.startswith(_FILE) else None


def _of_broker(url: str) -> Iterator[str]:
    """Yield the secret files of a broker's address. An invalid address has none; connecting to it reports the fault."""
    try:
        words = parse_qs(urlsplit(url).query)
    except ValueError:
        return
    for name in _OF_BROKERS:
        yield from words.get(name, ())
    for text in words.get("ssl_options", ()):
        yield from _in_ssl_options(text)


def _in_ssl_options(text: str) -> Iterator[str]:
    try:
        options = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return
    if isinstance(options, dict):
        yield from (str(options[name]) for name in _IN_SSL_OPTIONS if options.get(name))
