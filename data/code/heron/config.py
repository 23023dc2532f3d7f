"""Settings of the platform: environment variables and an INI file become typed, frozen records."""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path

PREFIX = "HERON_"
DEFAULT_DEFINITIONS = Path("/etc/heron/features.ini")


class ConfigError(ValueError):
    """A setting is missing or makes no sense."""


@dataclass(frozen=True)
class StoreSettings:
    """Where features are read from, and how long a reader is patient."""

    offline_url: str = "postgresql://feature-store:5432/features"
    online_url: str = "redis://online-store:6379/0"
    online_timeout: timedelta = timedelta(milliseconds=40)

    def __post_init__(self) -> None:
        """Refuse a timeout that would never, or always, be hit."""
        if not timedelta(0) < self.online_timeout < timedelta(seconds=5):
            raise ConfigError(f"online timeout of {self.online_timeout} is not between 0 and 5 s")


@dataclass(frozen=True)
class FeatureView:
    """A named group of columns that belong to the same entity."""

    name: str
    entity: str
    columns: tuple[str, ...]
    time_to_live: timedelta = timedelta(hours=24)

    @property
    def key_prefix(self) -> str:
        """Return how the keys of this view begin in the online store."""
        return f"{self.name}:{self.entity}:"


@dataclass(frozen=True)
class Settings:
    """Everything that a process of the platform is told from outside."""

    store: StoreSettings = field(default_factory=StoreSettings)
    views: tuple[FeatureView, ...] = ()
    log_level: str = "info"
    prediction_log_sample_rate: float = 0.25

    def view(self, name: str) -> FeatureView:
        """Return the view of that name; the error lists those that exist."""
        for view in self.views:
            if view.name == name:
                return view
        known = ", ".join(sorted(view.name for view in self.views)) or "none"
        raise ConfigError(f"no feature view {name!r}; defined are: {known}")


def read_views(path: Path) -> tuple[FeatureView, ...]:
    """Read an INI file with one section for each feature view."""
    parser = configparser.ConfigParser()
    with path.open(encoding="utf-8") as file:
        parser.read_file(file)
    return tuple(
        FeatureView(
            name=name,
            entity=parser[name]["entity"],
            columns=tuple(column.strip() for column in parser[name]["columns"].split(",")),
            time_to_live=timedelta(hours=parser[name].getfloat("ttl_hours", fallback=24.0)),
        )
        for name in parser.sections()
    )


# Only what is set is replaced, so that the defaults stand in one place: the fields above.
def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Put together defaults, the file of definitions and the environment, in that order."""
    settings = Settings()
    definitions = Path(environ.get(f"{PREFIX}FEATURE_DEFINITIONS", DEFAULT_DEFINITIONS))
    if definitions.exists():
        settings = replace(settings, views=read_views(definitions))
    if url := environ.get(f"{PREFIX}ONLINE_STORE_URL"):
        settings = replace(settings, store=replace(settings.store, online_url=url))
    if milliseconds := environ.get(f"{PREFIX}ONLINE_STORE_TIMEOUT_MS"):
        timeout = timedelta(milliseconds=float(milliseconds))
        settings = replace(settings, store=replace(settings.store, online_timeout=timeout))
    if rate := environ.get(f"{PREFIX}PREDICTION_LOG_SAMPLE_RATE"):
        settings = replace(settings, prediction_log_sample_rate=float(rate))
    return settings


def describe(settings: Settings) -> str:
    """Return one line for each setting, with passwords in URLs blotted out."""
    lines = []
    for setting in fields(settings.store):
        value = str(getattr(settings.store, setting.name))
        scheme, at, rest = value.rpartition("@")
        lines.append(f"store.{setting.name} = {'***@' + rest if scheme and at else value}")
    lines.extend(f"view {view.name}: {len(view.columns)} columns" for view in settings.views)
    return "\n".join(lines)
