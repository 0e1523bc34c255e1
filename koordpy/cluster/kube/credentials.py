"""Credentials: where the API server is and how to prove who we are. The only file that imports the official client.

The official client reads the kubeconfig or the service account's files, runs exec plugins and OIDC refreshes. Nothing
else of it is used.
"""

import asyncio
import binascii
import logging
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # undocumented, but public

from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException, kube_config
from kubernetes.aio.config.exec_provider import ExecProvider
from kubernetes.aio.config.incluster_config import InClusterConfigLoader

from koordpy.errors import ConfigError
from koordpy_api import Problem

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
# What the official loader lets through when a file is not what it expects.
_BROKEN: Final = (
    ConfigException,
    kube_config.yaml.YAMLError,
    KeyError,
    TypeError,
    ValueError,  # with binascii.Error, UnicodeDecodeError and JSON's
    AttributeError,
    OSError,  # with ssl.SSLError
)
# A plugin whose tokens are refused is not run again for every request.
_RENEWAL_PAUSE_S: Final = 10.0
# The official client is not asked again for every one of a thousand requests a second.
_GOOD_FOR_S: Final = 1.0

logger = logging.getLogger("koordpy.cluster")


class Credentials:
    """Made by `load`. `ssl_context` is for good; the headers are asked for before every request."""

    def __init__(self, configuration: Configuration, reload: Callable[[], Awaitable[None]], proxy: str | None) -> None:
        self.host: str = configuration.host
        self.server_name: str | None = configuration.tls_server_name
        self.proxy = proxy
        self.ssl_context = _tls(configuration)
        self._configuration = configuration
        self._reload = reload
        self._authorization = ""
        self._headers: dict[str, str] = {}
        self._read_at_s = float("-inf")
        self._renewing = asyncio.Lock()
        self._renewed_at_s = float("-inf")

    async def headers(self) -> dict[str, str]:
        """Headers for one request; inside a cluster the official hook reads the token again each minute."""
        now_s = asyncio.get_running_loop().time()
        if now_s - self._read_at_s < _GOOD_FOR_S:
            return self._headers
        try:
            settings = await self._configuration.auth_settings()
            value = settings["BearerToken"]["value"] if "BearerToken" in settings else None
            # A token file may end in a newline, and a header must not.
            self._authorization = (value or "").strip()
        except (ConfigException, OSError) as error:
            # Half-written at this moment, perhaps; the token we have is good for a while.
            logger.warning("the token cannot be read again, the last one is used: %s", error)
        self._headers = {"Authorization": self._authorization} if self._authorization else {}
        self._read_at_s = now_s
        return self._headers

    async def renew(self, refused: str) -> bool:
        """Get new ones after `refused`, an Authorization header, met a 401. Returns: whether they are others now."""
        async with self._renewing:
            if self._authorization != refused:
                return True  # somebody else has renewed them while we waited
            now_s = asyncio.get_running_loop().time()
            if now_s - self._renewed_at_s < _RENEWAL_PAUSE_S:
                return False
            self._renewed_at_s = now_s
            try:
                await self._reload()
            except _BROKEN as error:
                logger.warning("the credentials cannot be renewed: %s", error)
                return False
            if self._configuration.cert_file:
                # Into the same context: connections that come to be from now on use them.
                self.ssl_context.load_cert_chain(self._configuration.cert_file, self._configuration.key_file)
            self._read_at_s = float("-inf")
            return (await self.headers()).get("Authorization", "") != refused


async def load(
    kubeconfig: str = "",
    context: str = "",
    *,
    environ: Mapping[str, str],
    service_account: Path = SERVICE_ACCOUNT,
) -> Credentials:
    """Find and read the credentials: the kubeconfig named, else $KUBECONFIG, else this Pod's, else ~/.kube/config.

    Raises: ConfigError if there are none, or if they are broken.
    """
    named = kubeconfig or environ.get("KUBECONFIG", "")
    if named:
        return await _from_files(named, context, environ)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return _from_pod(environ, service_account)
    default = Path(environ.get("HOME", "/")) / ".kube" / "config"
    if not default.exists():
        right = "name a file with --kubeconfig or $KUBECONFIG, write this one, or run inside a cluster"
        raise ConfigError("credentials", [Problem(str(default), "", f"no such file: {right}")])
    return await _from_files(str(default), context, environ)


async def _from_files(paths: str, context: str, environ: Mapping[str, str]) -> Credentials:
    if not _any_exists(paths):
        raise ConfigError(paths, [Problem("kubeconfig", paths, "no such file")])
    configuration = Configuration()
    try:
        # Not through load_kube_config: its loader writes changed files back, and into a global default.
        merger = kube_config.KubeConfigMerger(paths)
        loader = kube_config.KubeConfigLoader(merger.config, active_context=context or None, config_base_path=None)
        await loader.load_and_set(configuration)
        if not hasattr(loader, "host"):
            raise ConfigException("the context's cluster has no server")
        await _check_exec_plugin(loader)
    except _BROKEN as error:
        raise ConfigError(paths, [_problem(error, context)]) from error
    return _credentials(configuration, lambda: _reload(loader, configuration), environ, paths)


def _credentials(
    configuration: Configuration, reload: Callable[[], Awaitable[None]], environ: Mapping[str, str], source: str
) -> Credentials:
    """Outside of the loaders' wide net of exceptions, in which a mistake of ours would look like the user's."""
    if not re.fullmatch(r"https?://[^/].*", configuration.host):
        right = "an address with its scheme, such as https://10.0.0.1:6443"
        raise ConfigError(source, [Problem("clusters[].cluster.server", configuration.host, right)])
    try:
        return Credentials(configuration, reload, _proxy(configuration, environ))
    except OSError as error:
        raise ConfigError(source, [_problem(error, "")]) from error


def _any_exists(paths: str) -> bool:
    """$KUBECONFIG may name several files, and as in kubectl not all of them need be there."""
    separator = kube_config.ENV_KUBECONFIG_PATH_SEPARATOR
    return any(Path(path).expanduser().exists() for path in paths.split(separator) if path)


async def _reload(loader: kube_config.KubeConfigLoader, configuration: Configuration) -> None:
    # The same loader, since it may hold a refresh token that is in no file. Told to forget that its exec plugin's
    # token is good for some time yet, because the API server says otherwise.
    vars(loader).pop("exec_plugin_expiry", None)
    await loader.load_and_set(configuration)


async def _check_exec_plugin(loader: kube_config.KubeConfigLoader) -> None:
    """The loader only logs that a plugin failed, and would go on as nobody."""
    user = loader._user
    if user is not None and "exec" in user and not hasattr(loader, "token") and not getattr(loader, "cert_file", None):
        await ExecProvider(user["exec"]).run()
        raise ConfigException("exec: the plugin gave neither a token nor a certificate")


def _from_pod(environ: Mapping[str, str], folder: Path) -> Credentials:
    configuration = Configuration()
    loader = InClusterConfigLoader(str(folder / "token"), str(folder / "ca.crt"), environ=environ)

    async def reload() -> None:
        loader.load_and_set(configuration)

    try:
        loader.load_and_set(configuration)
    except _BROKEN as error:
        raise ConfigError(str(folder), [_problem(error, "")]) from error
    return _credentials(configuration, reload, environ, str(folder))


def _problem(error: Exception, context: str) -> Problem:
    """What can be said without knowing where in the file it is; the loader's own texts name the key."""
    if isinstance(error, ssl.SSLError):
        return Problem("certificate", "", f"expected a certificate and key in PEM: {error}")
    if isinstance(error, binascii.Error):
        return Problem("certificate data", "", f"expected base64: {error}")
    if isinstance(error, ConfigException | kube_config.yaml.YAMLError | OSError):
        return Problem("kubeconfig", "", str(error))
    place = f"context {context}" if context else "kubeconfig"
    return Problem(place, "", "not a kubeconfig: it needs clusters, users and contexts, and a current-context")


def _tls(configuration: Configuration) -> ssl.SSLContext:
    """As the official client makes it. Source: kubernetes/aio/client/rest.py (RESTClientObject)."""
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    # On by default since Python 3.13. Go has no such check, and many clusters' own authorities would not pass it.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _proxy(configuration: Configuration, environ: Mapping[str, str]) -> str | None:
    """The kubeconfig's proxy-url, else the environment's, unless NO_PROXY names the host."""
    if configuration.proxy:
        return str(configuration.proxy)
    server = urlsplit(configuration.host)
    names = {"https": "https_proxy", "http": "http_proxy", "no": "no_proxy"}
    known = {key: environ.get(name) or environ.get(name.upper()) or "" for key, name in names.items()}
    if proxy_bypass_environment(server.netloc, known):
        return None
    return known.get(server.scheme) or None
