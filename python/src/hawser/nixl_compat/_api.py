# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""NIXL's Python API: ``nixl_agent`` and what belongs to it."""

from __future__ import annotations

import io
import pickle
import sys
from enum import Enum
from typing import Any, Optional, Union

import numpy as np

from . import _bindings as nixlBind
from .logging import get_logger

logger = get_logger(__name__)

DEFAULT_COMM_PORT = nixlBind.DEFAULT_COMM_PORT

nixl_backend_handle = int


class _Handle:
    """Something of an agent's that is let go of once, at the latest when nobody has it any more."""

    __slots__ = ("_handle", "_agent", "_released")

    def __init__(self, agent: nixlBind.nixlAgent, value: int) -> None:
        self._handle = int(value)
        self._agent = agent
        self._released = False

    def _let_go(self) -> None:
        raise NotImplementedError

    def release(self) -> None:
        """Lets go of it."""
        if not self._released:
            self._let_go()
            self._released = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}(0x{self._handle:x}, released={self._released})"

    def __del__(self) -> None:
        try:
            self.release()
        except Exception as e:
            try:
                logger.error("%r could not be released: %s", self, e)
            except Exception:  # the interpreter is ending
                pass


class nixl_prepped_dlist_handle(_Handle):
    """A prepared list of descriptors."""

    __slots__ = ()

    def _let_go(self) -> None:
        self._agent.releasedDlistH(self._handle)


class nixl_xfer_handle(_Handle):
    """A transfer."""

    __slots__ = ()

    def _let_go(self) -> None:
        self._agent.releaseXferReq(self._handle)


class nixl_thread_sync_t(Enum):
    """Modes of synchronisation."""

    NIXL_THREAD_SYNC_NONE = nixlBind.NIXL_THREAD_SYNC_NONE
    NIXL_THREAD_SYNC_STRICT = nixlBind.NIXL_THREAD_SYNC_STRICT
    NIXL_THREAD_SYNC_RW = nixlBind.NIXL_THREAD_SYNC_RW
    NIXL_THREAD_SYNC_DEFAULT = nixlBind.NIXL_THREAD_SYNC_DEFAULT


class nixl_agent_config:
    """Settings of an agent; threads and synchronisation change nothing, for Hawser's agents poll by themselves and may be
    used by many threads."""

    def __init__(
        self,
        enable_prog_thread: bool = True,
        enable_listen_thread: bool = False,
        listen_port: int = DEFAULT_COMM_PORT,
        capture_telemetry: bool = False,
        num_threads: int = 0,
        backends: Optional[list[str]] = None,
        sync_mode: Optional[nixl_thread_sync_t] = None,
    ) -> None:
        if sync_mode is not None and not isinstance(sync_mode, nixl_thread_sync_t):
            raise TypeError(f"sync_mode must be a nixl_thread_sync_t (got {type(sync_mode).__name__!r})")
        self.backends = ["UCX"] if backends is None else backends
        self.enable_pthread = enable_prog_thread
        self.enable_listen = enable_listen_thread
        self.port = listen_port
        self.capture_telemetry = capture_telemetry
        self.num_threads = num_threads
        self.sync_mode = sync_mode


class nixl_agent:
    """NIXL's agent."""

    def __init__(
        self, agent_name: str, nixl_conf: Optional[nixl_agent_config] = None, instantiate_all: bool = False
    ) -> None:
        if nixl_conf and instantiate_all:
            logger.warning("instantiate_all is ignored, for there is a config")
            instantiate_all = False
        conf = nixl_conf or nixl_agent_config()
        sync = nixl_thread_sync_t.NIXL_THREAD_SYNC_STRICT if conf.enable_listen else nixl_thread_sync_t.NIXL_THREAD_SYNC_NONE
        config = nixlBind.nixlAgentConfig(conf.enable_pthread)
        config.useListenThread = conf.enable_listen
        config.listenPort = conf.port
        config.syncMode = (conf.sync_mode or sync).value
        config.captureTelemetry = conf.capture_telemetry
        self.agent = nixlBind.nixlAgent(agent_name, config)
        self.name = agent_name
        self.notifs: dict[str, list[bytes]] = {}
        self.backends: dict[str, int] = {}
        self.backend_mems: dict[str, list[str]] = {}
        self.backend_options: dict[str, dict[str, str]] = {}
        self.plugin_b_options: dict[str, dict[str, str]] = {}
        self.plugin_mem_types: dict[str, list[str]] = {}
        self.plugin_list = self.agent.getAvailPlugins()
        self.nixl_mems = {
            "DRAM": nixlBind.DRAM_SEG,
            "VRAM": nixlBind.VRAM_SEG,
            "FILE": nixlBind.FILE_SEG,
            "BLOCK": nixlBind.BLK_SEG,
            "OBJ": nixlBind.OBJ_SEG,
            "cpu": nixlBind.DRAM_SEG,
            "cuda": nixlBind.VRAM_SEG,
        }
        self.nixl_ops = {"WRITE": nixlBind.NIXL_WRITE, "READ": nixlBind.NIXL_READ}
        for backend in self.plugin_list if instantiate_all else conf.backends:
            # Another network backend means the network: that is Hawser.
            if backend in self.plugin_list or (backend in nixlBind._NETWORK and not self.backends):
                self.create_backend(backend)
            else:
                logger.warning("backend %s is not there and is left out", backend)

    def _handles(self, backends: Optional[list[str]]) -> list[int]:
        return [self.backends[name] for name in backends or ()]

    # ---------------------------------------------------------------------------------------------- backends

    def get_plugin_list(self) -> list[str]:
        """The names of the backends that can be made."""
        return self.plugin_list

    def _plugin(self, backend: str) -> bool:
        if backend not in self.plugin_mem_types:
            if backend not in self.plugin_list:
                logger.warning("plugin %s is not there", backend)
                return False
            self.plugin_b_options[backend], self.plugin_mem_types[backend] = self.agent.getPluginParams(backend)
        return True

    def get_plugin_mem_types(self, backend: str) -> list[str]:
        """The kinds of memory of a backend that can be made."""
        return self.plugin_mem_types[backend] if self._plugin(backend) else []

    def get_plugin_params(self, backend: str) -> dict[str, str]:
        """The parameters of a backend that can be made."""
        return self.plugin_b_options[backend] if self._plugin(backend) else {}

    def get_backend_mem_types(self, backend: str) -> list[str]:
        """The kinds of memory of a backend."""
        if backend not in self.backend_mems:
            logger.warning("backend %s was not made", backend)
        return self.backend_mems.get(backend, [])

    def get_backend_params(self, backend: str) -> dict[str, str]:
        """The parameters of a backend."""
        if backend not in self.backend_options:
            logger.warning("backend %s was not made", backend)
        return self.backend_options.get(backend, {})

    def create_backend(self, backend: str, initParams: Optional[dict[str, str]] = None) -> None:
        """Makes a backend."""
        self.backends[backend] = self.agent.createBackend(backend, initParams or {})
        self.backend_options[backend], self.backend_mems[backend] = self.agent.getBackendParams(self.backends[backend])

    # ------------------------------------------------------------------------------------------------ memory

    def register_memory(
        self, reg_list: Any, mem_type: Optional[str] = None, backends: Optional[list[str]] = None
    ) -> nixlBind.nixlRegDList:
        """Registers memory; returns the list for deregister_memory."""
        descs = self.get_reg_descs(reg_list, mem_type)
        if descs is None:
            raise TypeError("reg_list: that is no memory; what is wrong with it is in the log")
        self.agent.registerMem(descs, self._handles(backends))
        return descs

    def deregister_memory(self, dereg_list: nixlBind.nixlRegDList, backends: Optional[list[str]] = None) -> None:
        """Ends registrations."""
        self.agent.deregisterMem(dereg_list, self._handles(backends))

    def query_memory(self, reg_list: Any, backend: str, mem_type: Optional[str] = None) -> list:
        """About files and objects."""
        descs = self.get_reg_descs(reg_list, mem_type)
        if descs is None:
            raise TypeError("reg_list: that is no memory; what is wrong with it is in the log")
        if backend not in self.backends:
            raise ValueError(f"Backend '{backend}' not found. Available backends: {list(self.backends)}")
        return self.agent.queryMem(descs, self.backends[backend])

    def prep_mem_view(self, dlist: Any, *, backends: Optional[list[str]] = None) -> int:
        """Of the device-side API."""
        return self.agent.prepMemView(dlist, self._handles(backends))

    def release_mem_view(self, mvh: int) -> None:
        """Of the device-side API."""
        self.agent.releaseMemView(mvh)

    # --------------------------------------------------------------------------------------------- transfers

    def make_connection(self, remote_agent: str, backends: Optional[list[str]] = None) -> None:
        """Connects to a peer before the first transfer."""
        self.agent.makeConnection(remote_agent, self._handles(backends))

    def prep_xfer_dlist(
        self, agent_name: str, xfer_list: Any, mem_type: Optional[str] = None, backends: Optional[list[str]] = None
    ) -> nixl_prepped_dlist_handle:
        """Prepares descriptors: of this agent ("NIXL_INIT_AGENT" or ""), or of a peer (or itself, by name)."""
        name = nixlBind.NIXL_INIT_AGENT if agent_name in ("NIXL_INIT_AGENT", "", b"") else agent_name
        handles = self._handles(backends)
        if isinstance(xfer_list, np.ndarray) and xfer_list.ndim == 2 and xfer_list.shape[1] == 5:
            if mem_type is None:
                raise ValueError("Please specify a mem type for strided descriptors")
            handle = self.agent.prepXferDlist(name, self.nixl_mems[mem_type], xfer_list, handles)
        else:
            handle = self.agent.prepXferDlist(name, self.get_xfer_descs(xfer_list, mem_type), handles)
        return nixl_prepped_dlist_handle(self.agent, handle)

    def estimate_xfer_cost(self, req_handle: nixl_xfer_handle) -> tuple:
        """What a transfer will take."""
        duration, margin, method = self.agent.estimateXferCost(req_handle._handle)
        analytical = method == nixlBind.NIXL_COST_ANALYTICAL_BACKEND
        return duration, margin, "ANALYTICAL_BACKEND" if analytical else "UNKNOWN"

    def make_prepped_xfer(
        self,
        operation: str,
        local_xfer_side: nixl_prepped_dlist_handle,
        local_indices: Union[list[int], np.ndarray],
        remote_xfer_side: nixl_prepped_dlist_handle,
        remote_indices: Union[list[int], np.ndarray],
        notif_msg: Union[bytes, str] = b"",
        backends: Optional[list[str]] = None,
        skip_desc_merge: bool = False,
    ) -> nixl_xfer_handle:
        """A transfer between two prepared lists."""
        handle = self.agent.makeXferReq(
            self.nixl_ops[operation],
            local_xfer_side._handle,
            local_indices,
            remote_xfer_side._handle,
            remote_indices,
            notif_msg,
            self._handles(backends),
            skip_desc_merge,
        )
        return nixl_xfer_handle(self.agent, handle)

    def initialize_xfer(
        self,
        operation: str,
        local_descs: nixlBind.nixlXferDList,
        remote_descs: nixlBind.nixlXferDList,
        remote_agent: str,
        notif_msg: Union[bytes, str] = b"",
        backends: Optional[list[str]] = None,
    ) -> nixl_xfer_handle:
        """A transfer between two lists."""
        op = self.nixl_ops[operation]
        handle = self.agent.createXferReq(op, local_descs, remote_descs, remote_agent, notif_msg, self._handles(backends))
        return nixl_xfer_handle(self.agent, handle)

    @staticmethod
    def _word(status: int) -> str:
        if status == nixlBind.NIXL_SUCCESS:
            return "DONE"
        return "PROC" if status == nixlBind.NIXL_IN_PROG else "ERR"

    def transfer(self, handle: nixl_xfer_handle, notif_msg: Union[bytes, str] = b"") -> str:
        """Starts a transfer: "DONE" or "PROC"."""
        return self._word(self.agent.postXferReq(handle._handle, notif_msg))

    def check_xfer_state(self, handle: nixl_xfer_handle) -> str:
        """How it stands: "DONE" or "PROC"; a failed one raises."""
        return self._word(self.agent.getXferStatus(handle._handle))

    def get_xfer_telemetry(self, handle: nixl_xfer_handle) -> nixlBind.nixlXferTelemetry:
        """What it took."""
        return self.agent.getXferTelemetry(handle._handle)

    def query_xfer_backend(self, handle: nixl_xfer_handle) -> str:
        """The name of its backend."""
        chosen = self.agent.queryXferBackend(handle._handle)
        return next(name for name, backend in self.backends.items() if backend == chosen)

    def release_xfer_handle(self, handle: nixl_xfer_handle) -> None:
        """Lets go of a transfer, cancelling it if it is under way."""
        handle.release()

    def release_dlist_handle(self, handle: nixl_prepped_dlist_handle) -> None:
        """Lets go of a prepared list."""
        handle.release()

    # ----------------------------------------------------------------------------------------- notifications

    def get_new_notifs(self, backends: Optional[list[str]] = None) -> dict[str, list[bytes]]:
        """What has arrived since the last call, by agent."""
        return self.agent.getNotifs({}, self._handles(backends))

    def update_notifs(self, backends: Optional[list[str]] = None) -> dict[str, list[bytes]]:
        """What has arrived and was not taken out of the map."""
        self.notifs = self.agent.getNotifs(self.notifs, self._handles(backends))
        return self.notifs

    def check_remote_xfer_done(
        self,
        remote_agent_name: str,
        lookup_tag: bytes,
        backends: Optional[list[str]] = None,
        tag_is_prefix: bool = True,
    ) -> bool:
        """Whether a notification with a tag has come from an agent; takes it out of the map."""
        messages = self.update_notifs(backends).get(remote_agent_name, [])
        for message in messages:
            if message.startswith(lookup_tag) if tag_is_prefix else lookup_tag in message:
                messages.remove(message)
                return True
        return False

    def send_notif(self, remote_agent_name: str, notif_msg: Union[bytes, str], backend: Optional[str] = None) -> None:
        """Sends a notification of its own."""
        self.agent.genNotif(remote_agent_name, notif_msg, [] if backend is None else [self.backends[backend]])

    # ---------------------------------------------------------------------------------------------- metadata

    def get_agent_metadata(self) -> bytes:
        """Everything that a peer needs."""
        return self.agent.getLocalMD()

    def get_partial_agent_metadata(
        self, descs: nixlBind.nixlRegDList, inc_conn_info: bool = False, backends: Optional[list[str]] = None
    ) -> bytes:
        """A part of it."""
        return self.agent.getLocalPartialMD(descs, inc_conn_info, self._handles(backends))

    def add_remote_agent(self, metadata: bytes) -> str:
        """Takes a peer's; returns its name (bytes, as NIXL does)."""
        return self.agent.loadRemoteMD(metadata)  # type: ignore[return-value]

    def remove_remote_agent(self, agent: str) -> None:
        """Forgets a peer and disconnects."""
        self.agent.invalidateRemoteMD(agent)

    def send_local_metadata(self, ip_addr: str = "", port: int = DEFAULT_COMM_PORT) -> None:
        """Sends everything to a peer's listener, or to the metadata service."""
        self.agent.sendLocalMD(ip_addr, port)

    def send_partial_agent_metadata(
        self,
        descs: nixlBind.nixlRegDList,
        inc_conn_info: bool = False,
        backends: Optional[list[str]] = None,
        ip_addr: str = "",
        port: int = DEFAULT_COMM_PORT,
        label: str = "",
    ) -> None:
        """Sends a part of it."""
        self.agent.sendLocalPartialMD(descs, inc_conn_info, self._handles(backends), ip_addr, port, label)

    def fetch_remote_metadata(
        self, remote_agent: str, ip_addr: str = "", port: int = DEFAULT_COMM_PORT, label: str = ""
    ) -> None:
        """Asks for a peer's: check_remote_metadata tells when it is there."""
        self.agent.fetchRemoteMD(remote_agent, ip_addr, port, label)

    def invalidate_local_metadata(self, ip_addr: str = "", port: int = DEFAULT_COMM_PORT) -> None:
        """Has a peer, or the metadata service, forget this agent."""
        self.agent.invalidateLocalMD(ip_addr, port)

    def check_remote_metadata(self, agent: str, descs: Optional[nixlBind.nixlXferDList] = None) -> bool:
        """Whether a peer is known, and covers some descriptors."""
        wanted = nixlBind.nixlXferDList(nixlBind.DRAM_SEG) if descs is None else descs
        return self.agent.checkRemoteMD(agent, wanted) == nixlBind.NIXL_SUCCESS

    # ------------------------------------------------------------------------------------- descriptor lists

    def get_xfer_descs(self, descs: Any, mem_type: Optional[str] = None) -> Optional[nixlBind.nixlXferDList]:
        """A list of descriptors from tuples of 3, an N×3 array, a tensor or a list of tensors; None if it is none."""
        return self._descs(descs, mem_type, nixlBind.nixlXferDList, nixlBind.nixlRegDList, 3)

    def get_reg_descs(self, descs: Any, mem_type: Optional[str] = None) -> Optional[nixlBind.nixlRegDList]:
        """A list of memory to register from tuples of 4, an N×3 array, a tensor or a list of tensors."""
        return self._descs(descs, mem_type, nixlBind.nixlRegDList, nixlBind.nixlXferDList, 4)

    def get_remote_descs(self, descs: Any, mem_type: Optional[str] = None) -> Optional[nixlBind.nixlRemoteDList]:
        """A list for the device-side API from tuples of 4."""
        if isinstance(descs, nixlBind.nixlRemoteDList):
            return descs
        if not isinstance(descs[0], tuple) or mem_type is None or len(descs[0]) != 4:
            logger.error("give tuples (address, length, device, agent) and a kind of memory")
            return None
        return nixlBind.nixlRemoteDList(self.nixl_mems[mem_type], descs)

    def _descs(self, descs: Any, mem_type: Optional[str], kind: Any, other: Any, width: int) -> Any:
        if isinstance(descs, kind):
            return descs
        if isinstance(descs, other):
            logger.error("that is a %s; give a %s", other.__name__, kind.__name__)
            return None
        if _is_tensor(descs):
            return self._of_tensors([descs], kind)
        if isinstance(descs, np.ndarray) or isinstance(descs[0], tuple):
            if mem_type is None:
                logger.error("Please specify a mem type if not using Tensors")
                return None
            if isinstance(descs, np.ndarray):
                fits = descs.ndim == 2 and descs.shape[1] == 3
            else:
                fits = len(descs[0]) == width
            if not fits:
                logger.error("give tuples of %d, or an N×3 array", width)
                return None
            return kind(self.nixl_mems[mem_type], descs)
        if _is_tensor(descs[0]):
            return self._of_tensors(descs, kind)
        return None

    def _of_tensors(self, tensors: Any, kind: Any) -> Any:
        rows = np.zeros((len(tensors), 3), dtype=np.uint64)
        for i, tensor in enumerate(tensors):
            if tensor.device != tensors[0].device:
                logger.error("the tensors are on different devices")
                return None
            if not tensor.is_contiguous():
                logger.error("Please use a list of contiguous Tensors")
                return None
            rows[i] = (tensor.data_ptr(), tensor.numel() * tensor.element_size(), max(0, tensor.get_device()))
        on_host = tensors[0].get_device() == -1
        return kind(nixlBind.DRAM_SEG if on_host else nixlBind.VRAM_SEG, rows)

    def get_serialized_descs(self, descs: Any) -> bytes:
        """A list of descriptors as bytes."""
        return pickle.dumps(descs)

    def deserialize_descs(self, serialized_descs: bytes) -> Any:
        """The list again; bytes that are something else are refused."""
        return nixlBind._Numbers(io.BytesIO(serialized_descs)).load()


def _is_tensor(thing: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.Tensor)
