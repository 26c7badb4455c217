"""Detection of hosts in contact with many distinct other hosts, within a sliding window and in bounded memory."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, final

from _typeshed import ReadableBuffer

__all__ = [
    "BusyError",
    "ConfigError",
    "Contacts",
    "Detector",
    "DeviceError",
    "Error",
    "Estimate",
    "Health",
    "InputError",
    "LateRowsError",
    "LateRowsWarning",
    "Peer",
    "Report",
    "Scan",
    "StateError",
    "SuperPoint",
    "__version__",
    "read",
    "scan",
]

_Host: TypeAlias = str | IPv4Address | IPv6Address

# NumPy arrays. Type checkers accept them as buffers only from Python 3.12 on.
class _Array(Protocol):
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

_Hosts: TypeAlias = ReadableBuffer | _Array | Iterable[_Host]
_Range: TypeAlias = Literal["within", "clamped-to-zero", "beyond"]

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _PeerDict(TypedDict):
    host: str
    last_seen: int

class _PointDict(TypedDict):
    slice: int
    start: datetime | None
    host: str
    cardinality: float
    std_error: float
    lower: float
    upper: float
    range: _Range
    peers: list[_PeerDict]

__version__: str

class Error(Exception):
    """The base class of all exceptions of this module."""

class ConfigError(Error):
    """A size, a slice length, a device name or a query window is invalid."""

class DeviceError(Error):
    """A GPU cannot be used, or has failed."""

class StateError(Error):
    """A snapshot, a delta or a list of pairs is damaged, or does not fit the detector."""

class InputError(Error):
    """A file or a table cannot be read."""

class LateRowsError(InputError):
    """More than 1 % of the rows of a table are late by at least a window."""

class BusyError(Error):
    """Another thread has exclusive access to the object."""

class LateRowsWarning(UserWarning):
    """A scan has dropped rows that were late by at least a window."""

@final
class Detector:
    """A detector of hosts in contact with at least `threshold` other hosts within the last `window` slices."""

    def __new__(
        cls,
        threshold: int = 1024,
        window: int = 300,
        memory: int | None = None,
        pairs: int | None = None,
        seed: int | None = None,
        device: str = "auto",
    ) -> Detector: ...
    @property
    def slice(self) -> int: ...
    @property
    def threshold(self) -> int: ...
    @property
    def window(self) -> int: ...
    @property
    def memory_bytes(self) -> int: ...
    @property
    def device(self) -> str: ...
    @property
    def health(self) -> Health: ...
    def ingest(self, inside: _Hosts, peer: _Hosts) -> None: ...
    def close_slice(self) -> Report: ...
    def skip_to(self, slice: int) -> None: ...
    def cardinality(self, host: _Host) -> Estimate: ...
    def within(self, host: _Host, slices: int) -> Estimate: ...
    def sample_peers(self, host: _Host) -> list[Peer]: ...
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: bytes) -> None: ...
    def pairs(self) -> list[bytes] | None: ...
    def delta(self, slices: int = 1) -> bytes: ...
    def merge(self, state: bytes) -> None: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __setstate__(self, state: bytes) -> None: ...

@final
class Estimate:
    """An estimated number of distinct peers."""

    @property
    def cardinality(self) -> float: ...
    @property
    def std_error(self) -> float: ...
    @property
    def range(self) -> _Range: ...
    def lower(self, sigmas: float = 1.96) -> float: ...
    def upper(self, sigmas: float = 1.96) -> float: ...

@final
class Peer:
    """A sampled peer of a host."""

    @property
    def host(self) -> str: ...
    @property
    def last_seen(self) -> int: ...

@final
class SuperPoint:
    """A host whose estimated number of distinct peers reaches the threshold."""

    @property
    def host(self) -> str: ...
    @property
    def cardinality(self) -> float: ...
    @property
    def std_error(self) -> float: ...
    @property
    def range(self) -> _Range: ...
    @property
    def peers(self) -> list[Peer]: ...
    def lower(self, sigmas: float = 1.96) -> float: ...
    def upper(self, sigmas: float = 1.96) -> float: ...

@final
class Health:
    """The health of a detector when it last closed a slice."""

    @property
    def load(self) -> float: ...
    @property
    def errors_hold(self) -> bool: ...
    @property
    def share(self) -> int: ...
    @property
    def cells_in_use(self) -> float | None: ...
    @property
    def miss_probability(self) -> float: ...
    @property
    def miss_probability_v6(self) -> float | None: ...
    @property
    def burst_miss_probability(self) -> float: ...
    @property
    def burst_miss_probability_v6(self) -> float | None: ...
    @property
    def found_from(self) -> float: ...
    @property
    def found_from_v6(self) -> float | None: ...
    @property
    def overload(self) -> Literal["crowded", "raised", "saturated"] | None: ...

@final
class Report:
    """The super points of the window that ends with `slice`, largest first."""

    @property
    def slice(self) -> int: ...
    @property
    def start(self) -> datetime | None: ...
    @property
    def candidates(self) -> int: ...
    @property
    def health(self) -> Health: ...
    @property
    def super_points(self) -> list[SuperPoint]: ...
    def to_dicts(self) -> list[_PointDict]: ...
    def to_arrow(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def _repr_html_(self) -> str: ...

@final
class Scan:
    """An iterator over the reports of a scan."""

    @property
    def detector(self) -> Detector: ...
    @property
    def rows(self) -> int: ...
    @property
    def too_late(self) -> int: ...
    def __iter__(self) -> Scan: ...
    def __next__(self) -> Report: ...

@final
class Contacts:
    """The contacts in files, as an Arrow stream that can be read once."""

    @property
    def status(self) -> str: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def scan(
    data: _ArrowStream,
    *,
    time: str,
    source: str,
    destination: str,
    inside: Sequence[str] | None = None,
    slice: str = "1s",
    detector: Detector | None = None,
    progress: bool | None = None,
    late: Literal["raise", "drop"] = "raise",
) -> Scan: ...
def read(*paths: str | PathLike[str], exports: bool = False) -> Contacts: ...
