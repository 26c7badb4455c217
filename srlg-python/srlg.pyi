"""Detection of hosts in contact with many distinct other hosts, within a sliding window and in bounded memory."""

import builtins
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from os import PathLike
from typing import (
    Any,
    Literal,
    NoReturn,
    Protocol,
    Self,
    SupportsIndex,
    TypeAlias,
    TypedDict,
    Unpack,
    final,
    overload,
    type_check_only,
)

from _typeshed import ReadableBuffer

__all__ = [
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
    "OverloadWarning",
    "Peer",
    "Report",
    "Scan",
    "State",
    "StateError",
    "SuperPoint",
    "__version__",
    "merge",
    "read",
    "scan",
    "sketch",
    "super_points",
]

_Host: TypeAlias = str | int | IPv4Address | IPv6Address
_Network: TypeAlias = str | IPv4Network | IPv6Network

# NumPy arrays. Type checkers accept them as buffers only from Python 3.12 on.
class _Array(Protocol):
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> object: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _LazyFrame(Protocol):
    def collect_batches(self) -> Any: ...

_Hosts: TypeAlias = ReadableBuffer | _Array | _ArrowArray | _ArrowStream | Iterable[_Host]
_Table: TypeAlias = _ArrowStream | _LazyFrame | Iterable[_ArrowStream]
_States: TypeAlias = ReadableBuffer | Detector | Iterable[_States]
_Range: TypeAlias = Literal["within", "clamped-to-zero", "beyond"]
_Only: TypeAlias = Literal["all", "initiated", "no-refusals", "no-replies", "replies", "tcp-syn"]

@type_check_only
class _RestoredOptions(TypedDict, total=False):
    seed: int | None
    device: str
    inside: _Network | Iterable[_Network] | None
    measure: Literal["inside", "outside"]
    role: Literal["any", "source", "destination"]
    only: _Only
    host: Literal["address", "address+port"]
    peer: Literal["address", "port", "address+port"]
    host_prefix4: int
    host_prefix6: int
    peer_prefix4: int
    peer_prefix6: int

@type_check_only
class _Options(_RestoredOptions, total=False):
    threshold: int
    window: int
    memory: int | None
    pairs: int | None

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
    """More than 1 % of the rows of a table came after the report of their slice."""

class LateRowsWarning(UserWarning):
    """Rows of a table came after the report of their slice, so reports are short of them."""

class OverloadWarning(UserWarning):
    """A slice has more pairs than the memory of the detector allows, so hosts may be missing in its report."""

@final
class Detector:
    """A detector of hosts in contact with at least `threshold` other hosts within the last `window` slices."""

    def __new__(
        cls,
        threshold: int = 1024,
        window: int = 300,
        *,
        memory: int | None = None,
        pairs: int | None = None,
        seed: int | None = None,
        device: str = "auto",
        inside: _Network | Iterable[_Network] | None = None,
        measure: Literal["inside", "outside"] = "inside",
        role: Literal["any", "source", "destination"] = "any",
        only: _Only = "all",
        host: Literal["address", "address+port"] = "address",
        peer: Literal["address", "port", "address+port"] = "address",
        host_prefix4: int = 32,
        host_prefix6: int = 128,
        peer_prefix4: int = 32,
        peer_prefix6: int = 128,
    ) -> Detector: ...
    @classmethod
    def from_snapshot(
        cls, snapshot: ReadableBuffer, **options: Unpack[_RestoredOptions]
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
    def ingest_table(
        self, data: _Table, *, source: str = "source", destination: str = "destination"
    ) -> None: ...
    def close_slice(self) -> Report: ...
    def report(self) -> Report: ...
    def skip_to(self, slice: int) -> None: ...
    def cardinality(self, host: _Host, slices: int | None = None) -> Estimate: ...
    def cardinalities(self, hosts: _Hosts, slices: int | None = None) -> list[Estimate]: ...
    def sample_peers(self, host: _Host) -> list[Peer]: ...
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: ReadableBuffer) -> None: ...
    def delta(self, slices: int = 1) -> bytes: ...
    def merge(self, states: _States, *, advance: bool = False) -> None: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __setstate__(self, state: tuple[int, list[bytes]]) -> None: ...

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
    def std_error(self) -> float | None: ...
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
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[SuperPoint]: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> SuperPoint: ...
    @overload
    def __getitem__(self, key: builtins.slice, /) -> list[SuperPoint]: ...
    def to_dicts(self) -> list[_PointDict]: ...
    def to_arrow(self) -> Any: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...
    def __reduce__(self) -> NoReturn: ...
    def _repr_html_(self) -> str: ...

@final
class Scan:
    """An iterator over the reports of a scan."""

    @property
    def detector(self) -> Detector: ...
    @property
    def rows(self) -> int: ...
    @property
    def late(self) -> int: ...
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

@final
class State:
    """The header of a snapshot, a delta or a list of pairs."""

    def __new__(cls, state: ReadableBuffer) -> State: ...
    @property
    def kind(self) -> Literal["snapshot", "delta", "pairs"]: ...
    @property
    def slice(self) -> int: ...
    @property
    def slices(self) -> int: ...
    @property
    def size(self) -> int: ...

def scan(
    data: _Table,
    *,
    time: str = "time",
    source: str = "source",
    destination: str = "destination",
    slice: str | timedelta = "1s",
    detector: Detector | None = None,
    progress: bool | None = None,
    late: Literal["raise", "drop"] = "raise",
    grace: str | timedelta | None = None,
    **options: Unpack[_Options],
) -> Scan: ...
def super_points(
    data: _Table,
    *,
    source: str = "source",
    destination: str = "destination",
    **options: Unpack[_Options],
) -> Report: ...
def sketch(
    data: _Table,
    *,
    source: str = "source",
    destination: str = "destination",
    slice: int = 0,
    **options: Unpack[_Options],
) -> bytes: ...
def merge(states: _States, **options: Unpack[_Options]) -> Detector: ...
def read(*paths: str | PathLike[str], exports: bool = False) -> Contacts: ...
