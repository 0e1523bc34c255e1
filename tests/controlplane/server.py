"""Start etcd and kube-apiserver for the tests, and talk to them."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import secrets
import ssl
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from .build import binary, find_assets, why_absent
from .supervisor import LOOPBACK, Supervisor, accepts, free_ports, wait_until

__all__ = ["ControlPlane", "ControlPlaneError", "collection_path", "find_assets", "why_absent"]

ADMIN: Final = "admin"
START_TRIES: Final = 3
REQUEST_TIMEOUT_S: Final = 60.0
NAMESPACED: Final = frozenset({"Pod", "ServiceAccount", "Role", "RoleBinding"})
"""Of the kinds that tests create, those that live in a namespace."""
BENCHMARK_FLAGS: Final = ("--max-requests-inflight=3000", "--max-mutating-requests-inflight=1500")


class ControlPlaneError(Exception):
    """The control plane refused something that a test takes for granted."""


class ControlPlane:
    """One etcd and one kube-apiserver on free ports of 127.0.0.1, with RBAC on; a context manager.

    Nothing outlives it, nor the process that holds it: see supervisor.py.
    """

    def __init__(self, users: Sequence[tuple[str, Sequence[str]]] = (), benchmark: bool = False) -> None:
        """Users are pairs of name and groups that get a token besides `admin`, who is in system:masters."""
        self._groups = {ADMIN: ("system:masters",), **{name: tuple(groups) for name, groups in users}}
        self._tokens = {name: secrets.token_hex(16) for name in self._groups}
        self._benchmark = benchmark
        self._supervisor: Supervisor | None = None
        self._pids: dict[str, int] = {}
        self._port = 0
        self._tls: ssl.SSLContext | None = None

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        """Stop it."""
        self.stop()

    def start(self) -> None:
        """Start both servers; *returns* once the API server is ready and has its default namespace.

        A free port may be taken by somebody else before the server binds it: then it tries again with others.
        """
        for tries_left in reversed(range(START_TRIES)):
            try:
                self._start_once()
                return
            except BaseException as error:
                self.stop()
                if "address already in use" not in str(error) or not tries_left:
                    raise

    def stop(self) -> None:
        """SIGKILL to everything that was started here, and remove the run folder; a second call does nothing."""
        supervisor, self._supervisor, self._tls, self._pids = self._supervisor, None, None, {}
        if supervisor is not None:
            supervisor.close()

    @property
    def url(self) -> str:
        """Where the API server answers, such as https://127.0.0.1:40123."""
        return f"https://{LOOPBACK}:{self._port}"

    @property
    def folder(self) -> Path:
        """The run folder: keys, certificates, logs, etcd's data, kubeconfigs; it goes with `stop`."""
        return self._running().folder

    @property
    def ca_file(self) -> Path:
        """The certificate to verify the API server against."""
        return self.folder / "certs" / "apiserver.crt"

    @property
    def admin_token(self) -> str:
        """The bearer token of a user who may do everything."""
        return self._tokens[ADMIN]

    def token_for(self, user: str) -> str:
        """The bearer token of a user given to the constructor."""
        if user not in self._tokens:
            raise ControlPlaneError(f"There is no user {user}, only {', '.join(self._tokens)}: name it in `users`.")
        return self._tokens[user]

    def pids(self) -> dict[str, int]:
        """The process ids of `etcd` and `kube-apiserver`; empty when stopped."""
        return dict(self._pids)

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """Write the kubeconfig of a user into the run folder; JSON, which is YAML."""
        authority = base64.b64encode(self.ca_file.read_bytes()).decode()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": {"server": self.url, "certificate-authority-data": authority}}],
            "users": [{"name": user, "user": {"token": self.token_for(user)}}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": user}}],
            "current-context": "tests",
        }
        path = self.folder / f"{user.replace(':', '-')}.kubeconfig"
        path.write_text(json.dumps(config, indent=1))
        return path

    def request(
        self, method: str, path: str, body: object = None, content_type: str = "application/json", user: str = ADMIN
    ) -> tuple[int, Any]:
        """Send one request as user; *returns* the HTTP status and the decoded body.

        A body that is not JSON, as /readyz has, comes back as text.
        """
        headers = {"Authorization": f"Bearer {self.token_for(user)}", "Content-Type": content_type}
        return self._exchange(self._port, method, path, headers, None if body is None else json.dumps(body))

    def create(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object at its `collection_path`; *returns* it as the server stored it.

        *Raises* ControlPlaneError if the server refuses, also because the object exists.
        """
        status, answer = self.request("POST", collection_path(obj), obj)
        if status != http.client.CREATED:
            raise ControlPlaneError(_refusal(obj, status, answer))
        created: dict[str, Any] = answer
        return created

    def apply_file(self, path: Path) -> None:
        """Create each document of a YAML file unless it exists; *returns* once every CRD among them is served."""
        for document in filter(None, yaml.safe_load_all(path.read_text())):
            self._ensure(document)
            if document["kind"] == "CustomResourceDefinition":
                wait_until(f"{document['metadata']['name']} to be served", partial(self._is_served, document))

    def start_process(
        self, command: Sequence[str], log_path: Path, environ: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start any program with its output in log_path; `stop` kills it, and it cannot outlive the tests."""
        return self._running().start_watched(command, log_path, environ)

    def start_scheduler(self, config_path: Path, log_path: Path) -> subprocess.Popen[bytes]:
        """Start kube-scheduler with a KubeSchedulerConfiguration; *returns* once it is ready."""
        return self._start_component("kube-scheduler", [f"--config={config_path}"], "/readyz", log_path)

    def start_controller_manager(self, log_path: Path) -> subprocess.Popen[bytes]:
        """Start kube-controller-manager as admin with its default controllers; *returns* once it is healthy.

        Only for tests that name it: it taints nodes without a heartbeat and deletes pods of nodes that are gone.
        """
        flags = [
            f"--kubeconfig={self.kubeconfig()}",
            "--leader-elect=false",
            f"--service-account-private-key-file={self.folder / 'service-account.key'}",
            f"--root-ca-file={self.ca_file}",
        ]
        return self._start_component("kube-controller-manager", flags, "/healthz", log_path)

    def _start_component(self, name: str, flags: Sequence[str], path: str, log: Path) -> subprocess.Popen[bytes]:
        (port,) = free_ports(1)
        # It serves on the same address as the API server, so the same certificate will do.
        pair = [f"--tls-cert-file={self.ca_file}", f"--tls-private-key-file={self.ca_file.with_suffix('.key')}"]
        serving = [f"--bind-address={LOOPBACK}", f"--secure-port={port}", *pair]
        process = self.start_process([str(binary(name)), *flags, *serving], log)
        wait_until(f"{name} to be ready", lambda: self._answers_ok(port, path), process.poll, log)
        return process

    def _start_once(self) -> None:
        self._supervisor = Supervisor()
        self.ca_file.parent.mkdir()
        client, peer, self._port = free_ports(3)
        self._write_credentials()
        self._launch("etcd", _etcd_flags(self.folder, client, peer), lambda: accepts(client))
        flags = _api_server_flags(self.folder, self._port, client)
        self._launch("kube-apiserver", [*flags, *(BENCHMARK_FLAGS if self._benchmark else ())], self._is_ready)
        self._ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})

    def _launch(self, name: str, flags: Sequence[str], ready: Callable[[], bool]) -> None:
        supervisor, log = self._running(), self.folder / f"{name}.log"
        pid = supervisor.start([str(binary(name)), *flags], log)
        self._pids[name] = pid
        wait_until(f"{name} to be ready", ready, lambda: supervisor.exit_status(pid), log)

    def _write_credentials(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (self.folder / "service-account.key").write_bytes(key)
        lines = [f'{self._tokens[name]},{name},{name},"{",".join(groups)}"' for name, groups in self._groups.items()]
        (self.folder / "tokens.csv").write_text("\n".join(lines) + "\n")

    def _ensure(self, obj: Mapping[str, Any]) -> None:
        status, answer = self.request("POST", collection_path(obj), obj)
        if status not in (http.client.CREATED, http.client.CONFLICT):
            raise ControlPlaneError(_refusal(obj, status, answer))

    def _is_served(self, crd: Mapping[str, Any]) -> bool:
        _, stored = self.request("GET", f"{collection_path(crd)}/{crd['metadata']['name']}")
        conditions = stored.get("status", {}).get("conditions") or []  # null until the server's controller comes by
        if ("Established", "True") not in {(each["type"], each["status"]) for each in conditions}:
            return False
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        for version in (each["name"] for each in crd["spec"]["versions"] if each["served"]):
            status, found = self.request("GET", f"/apis/{group}/{version}")
            if status != http.client.OK or plural not in {each["name"] for each in found["resources"]}:
                return False
        return True

    def _is_ready(self) -> bool:
        if self._tls is None and self.ca_file.exists():
            with contextlib.suppress(ssl.SSLError):  # the file is there, its text may not be
                self._tls = ssl.create_default_context(cafile=self.ca_file)
        return self._tls is not None and self._answers_ok(self._port, "/readyz")

    def _answers_ok(self, port: int, path: str) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self._exchange(port, "GET", path, {}, None)[0] == http.client.OK
        return False

    def _exchange(
        self, port: int, method: str, path: str, headers: Mapping[str, str], body: str | None
    ) -> tuple[int, Any]:
        connection = http.client.HTTPSConnection(LOOPBACK, port, timeout=REQUEST_TIMEOUT_S, context=self._tls)
        with contextlib.closing(connection):
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            text = response.read()
        try:
            return response.status, json.loads(text)
        except ValueError:
            return response.status, text.decode(errors="replace")

    def _running(self) -> Supervisor:
        if self._supervisor is None:
            raise ControlPlaneError("The control plane is not running: use it in a `with` statement, or start it.")
        return self._supervisor


def collection_path(obj: Mapping[str, Any]) -> str:
    """The path to POST an object to; it needs a kind with a regular plural, and to be in NAMESPACED if it is so."""
    version, kind = str(obj["apiVersion"]), str(obj["kind"])
    plural = kind.lower() + ("es" if kind.endswith("s") else "s")
    namespace = f"namespaces/{obj['metadata'].get('namespace', 'default')}/" if kind in NAMESPACED else ""
    return f"/{'apis' if '/' in version else 'api'}/{version}/{namespace}{plural}"


def _refusal(obj: Mapping[str, Any], status: int, answer: object) -> str:
    message = answer.get("message") if isinstance(answer, dict) else answer
    return f"{obj['kind']} {obj['metadata'].get('name')} is refused with {status}: {message}"


def _etcd_flags(folder: Path, client: int, peer: int) -> list[str]:
    own, peers = f"http://{LOOPBACK}:{client}", f"http://{LOOPBACK}:{peer}"
    clients = [f"--listen-client-urls={own}", f"--advertise-client-urls={own}"]
    members = [f"{flag}={peers}" for flag in ("--listen-peer-urls", "--initial-advertise-peer-urls")]
    members.append(f"--initial-cluster=default={peers}")
    return [f"--data-dir={folder / 'etcd'}", *clients, *members, "--unsafe-no-fsync"]


def _api_server_flags(folder: Path, port: int, etcd_port: int) -> list[str]:
    key = folder / "service-account.key"
    return [
        f"--etcd-servers=http://{LOOPBACK}:{etcd_port}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        # Without these two it looks for an address of this machine that is not loopback, and may find none.
        f"--advertise-address={LOOPBACK}",
        "--endpoint-reconciler-type=none",
        f"--cert-dir={folder / 'certs'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        # No controller manager runs: no pod would get its account's token, every node would keep a taint.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        "--service-cluster-ip-range=10.0.0.0/16",
    ]
