"""Kubeconfigs of every form, service accounts, and what is said when they are broken."""

import asyncio
import base64
import datetime
import json
import ssl
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from koordpy.cluster.kube.credentials import Credentials, load
from koordpy.errors import ConfigError

T = TypeVar("T")


@pytest.fixture(scope="module")
def pair() -> tuple[bytes, bytes]:
    """A certificate and its key, good for one test run."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "koordpy test")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
    builder = builder.not_valid_after(datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    form = serialization.PrivateFormat.PKCS8
    return (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()),
    )


def kubeconfig(
    folder: Path, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, name: str = "config"
) -> str:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": "https://10.0.0.1:6443", **(cluster or {})}},
            {"name": "other", "cluster": {"server": "http://localhost:8080"}},
        ],
        "users": [{"name": "u", "user": {"token": "secret"} if user is None else user}],
        "contexts": [
            {"name": "x", "context": {"cluster": "c", "user": "u"}},
            {"name": "y", "context": {"cluster": "other", "user": "u"}},
        ],
        "current-context": "x",
    }
    path = folder / name
    path.write_text(json.dumps(document))
    return str(path)


def ask(question: Callable[[Credentials], Awaitable[T]], *arguments: str, **options: Any) -> T:
    async def main() -> T:
        return await question(await load(*arguments, **{"environ": {}, **options}))

    return asyncio.run(main())


async def itself(credentials: Credentials) -> Credentials:
    return credentials


async def headers(credentials: Credentials) -> dict[str, str]:
    return await credentials.headers()


def problem(*arguments: str, **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        ask(itself, *arguments, **options)
    return str(caught.value)


def test_a_token_becomes_a_bearer_header(tmp_path: Path) -> None:
    assert ask(headers, kubeconfig(tmp_path)) == {"Authorization": "Bearer secret"}


def test_the_token_of_a_file_loses_its_newline(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-a-file\n")
    config = kubeconfig(tmp_path, {"tokenFile": "token"})
    assert ask(headers, config) == {"Authorization": "Bearer from-a-file"}


def test_a_password_becomes_a_basic_header(tmp_path: Path) -> None:
    config = kubeconfig(tmp_path, {"username": "me", "password": "pw"})
    assert ask(headers, config) == {"Authorization": "Basic bWU6cHc="}


def test_a_user_without_a_token_sends_none(tmp_path: Path) -> None:
    assert ask(headers, kubeconfig(tmp_path, {})) == {}


def test_another_context_may_be_chosen(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path)
    assert ask(itself, path).host == "https://10.0.0.1:6443"
    assert ask(itself, path, "y").host == "http://localhost:8080"


def test_the_cluster_s_authority_is_the_only_one_trusted(tmp_path: Path, pair: tuple[bytes, bytes]) -> None:
    data = base64.b64encode(pair[0]).decode()
    context = ask(itself, kubeconfig(tmp_path, cluster={"certificate-authority-data": data})).ssl_context
    assert [each["subject"] for each in context.get_ca_certs()] == [((("commonName", "koordpy test"),),)]
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT


def test_an_insecure_cluster_is_not_verified(tmp_path: Path) -> None:
    context = ask(itself, kubeconfig(tmp_path, cluster={"insecure-skip-tls-verify": True})).ssl_context
    assert context.verify_mode is ssl.CERT_NONE
    assert not context.check_hostname


def test_a_client_certificate_is_loaded(tmp_path: Path, pair: tuple[bytes, bytes]) -> None:
    (tmp_path / "tls.crt").write_bytes(pair[0])
    key = base64.b64encode(pair[1]).decode()
    assert ask(headers, kubeconfig(tmp_path, {"client-certificate": "tls.crt", "client-key-data": key})) == {}


def test_server_name_and_proxy_come_from_the_cluster(tmp_path: Path) -> None:
    found = ask(itself, kubeconfig(tmp_path, cluster={"tls-server-name": "api", "proxy-url": "http://proxy:3128"}))
    assert (found.server_name, found.proxy) == ("api", "http://proxy:3128")


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        pytest.param({"HTTPS_PROXY": "http://p:1"}, "http://p:1", id="HTTPS_PROXY is used"),
        pytest.param({"https_proxy": "http://p:1", "NO_PROXY": "10.0.0.1"}, None, id="NO_PROXY names the host"),
        pytest.param({"http_proxy": "http://p:1"}, None, id="http_proxy is for http"),
    ],
)
def test_the_environment_s_proxy_is_used_unless_it_says_no(
    tmp_path: Path, environ: dict[str, str], proxy: str | None
) -> None:
    assert ask(itself, kubeconfig(tmp_path), environ=environ).proxy == proxy


def test_the_file_named_wins_over_the_environment_and_both_over_the_home_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".kube").mkdir(parents=True)
    kubeconfig(home / ".kube", {"token": "home"})
    environ = {"HOME": str(home)}
    assert ask(headers, environ=environ) == {"Authorization": "Bearer home"}
    environ["KUBECONFIG"] = kubeconfig(tmp_path, {"token": "environment"}, name="second")
    assert ask(headers, environ=environ) == {"Authorization": "Bearer environment"}
    named = kubeconfig(tmp_path, {"token": "named"}, name="first")
    assert ask(headers, named, environ=environ) == {"Authorization": "Bearer named"}


def test_several_files_are_merged_and_one_of_them_may_be_missing(tmp_path: Path) -> None:
    environ = {"KUBECONFIG": f"{tmp_path / 'missing'}:{kubeconfig(tmp_path)}"}
    assert ask(headers, environ=environ) == {"Authorization": "Bearer secret"}


def test_where_nothing_is_found_it_says_what_to_do(tmp_path: Path) -> None:
    said = problem(environ={"HOME": str(tmp_path)})
    assert str(tmp_path / ".kube" / "config") in said
    assert "--kubeconfig or $KUBECONFIG" in said


@pytest.mark.parametrize("server", ["", "10.0.0.1:6443", "api.example.test"])
def test_a_server_without_its_scheme_is_refused_before_anything_starts(tmp_path: Path, server: str) -> None:
    path = kubeconfig(tmp_path, cluster={"server": server})
    assert "clusters[].cluster.server" in problem(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "no such file" in problem(str(tmp_path / "missing"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: [", "flow node", id="it is no YAML"),
        pytest.param("", "not a kubeconfig", id="it is empty"),
        pytest.param("- a", "not a kubeconfig", id="it is a list"),
        pytest.param("kind: Config", "current-context", id="it has no context"),
        pytest.param("\x00", "special characters", id="it is binary"),
    ],
)
def test_a_broken_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    found = problem(str(path))
    assert str(path) in found
    assert said in found


@pytest.mark.parametrize(
    ("user", "cluster", "said"),
    [
        pytest.param({}, {"certificate-authority": "gone"}, "gone", id="the authority's file is missing"),
        pytest.param({}, {"certificate-authority-data": "a"}, "base64", id="the authority is no base64"),
        pytest.param({}, {"certificate-authority-data": "aGk="}, "PEM", id="the authority is no certificate"),
        pytest.param({}, {"server": None}, "server", id="the server is null"),
        pytest.param({"exec": {"command": "x"}}, {}, "apiVersion", id="the plugin has no version"),
    ],
)
def test_a_broken_entry_is_named(tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any], said: str) -> None:
    assert said in problem(kubeconfig(tmp_path, user, cluster))


def test_an_unknown_context_is_named(tmp_path: Path) -> None:
    assert "nowhere" in problem(kubeconfig(tmp_path), "nowhere")


PLUGIN = """
import json, pathlib, sys
count = pathlib.Path(sys.argv[1])
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
version = "client.authentication.k8s.io/v1"
status = {"token": f"token-{number}", "expirationTimestamp": "2120-01-01T00:00:00Z"}
print(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status}))
"""


def exec_user(folder: Path, text: str = PLUGIN) -> dict[str, Any]:
    script = folder / "plugin.py"
    script.write_text(text)
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": sys.executable, "args": [str(script), str(folder / "count")]}}


def test_the_token_of_an_exec_plugin_is_used_until_it_is_refused(tmp_path: Path) -> None:
    async def question(credentials: Credentials) -> list[object]:
        first = await credentials.headers()
        again = await credentials.headers()
        # Two requests meet the same refusal; the plugin runs once for both.
        both = await asyncio.gather(*(credentials.renew(first["Authorization"]) for _ in range(2)))
        return [first["Authorization"], again == first, both, (await credentials.headers())["Authorization"]]

    said = ask(question, kubeconfig(tmp_path, exec_user(tmp_path)))
    assert said == ["Bearer token-1", True, [True, True], "Bearer token-2"]


def test_a_plugin_is_not_run_again_for_every_refusal(tmp_path: Path) -> None:
    async def question(credentials: Credentials) -> list[bool]:
        return [await credentials.renew((await credentials.headers())["Authorization"]) for _ in range(5)]

    said = ask(question, kubeconfig(tmp_path, exec_user(tmp_path)))
    assert said == [True, False, False, False, False]
    assert (tmp_path / "count").read_text() == "2"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("import sys; sys.exit('no login')", "no login", id="it fails"),
        pytest.param("print('hello')", "failed to decode", id="it prints something else"),
    ],
)
def test_an_exec_plugin_that_does_not_work_is_an_error_at_the_start(tmp_path: Path, text: str, said: str) -> None:
    assert said in problem(kubeconfig(tmp_path, exec_user(tmp_path, text)))


def test_a_static_token_cannot_be_renewed(tmp_path: Path) -> None:
    async def question(credentials: Credentials) -> bool:
        return await credentials.renew((await credentials.headers())["Authorization"])

    assert ask(question, kubeconfig(tmp_path)) is False


@pytest.fixture
def account(tmp_path: Path, pair: tuple[bytes, bytes]) -> Path:
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "ca.crt").write_bytes(pair[0])
    return tmp_path


IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}


def test_inside_a_cluster_the_service_account_is_used(account: Path) -> None:
    found = ask(itself, environ=IN_CLUSTER, service_account=account)
    assert found.host == "https://[fd00::1]:443"
    assert ask(headers, environ=IN_CLUSTER, service_account=account) == {"Authorization": "bearer first"}


def test_inside_a_cluster_a_refused_token_is_read_again(account: Path) -> None:
    async def question(credentials: Credentials) -> tuple[bool, dict[str, str]]:
        refused = (await credentials.headers())["Authorization"]
        (account / "token").write_text("second\n")
        return await credentials.renew(refused), await credentials.headers()

    said = ask(question, environ=IN_CLUSTER, service_account=account)
    assert said == (True, {"Authorization": "bearer second"})


def test_a_token_file_that_vanishes_for_a_moment_costs_nothing(account: Path) -> None:
    async def question(credentials: Credentials) -> tuple[bool, dict[str, str]]:
        refused = (await credentials.headers())["Authorization"]
        (account / "token").unlink()
        return await credentials.renew(refused), await credentials.headers()

    said = ask(question, environ=IN_CLUSTER, service_account=account)
    assert said == (False, {"Authorization": "bearer first"})


def test_inside_a_cluster_a_missing_token_is_an_error(tmp_path: Path) -> None:
    said = problem(environ=IN_CLUSTER, service_account=tmp_path)
    assert str(tmp_path) in said
    assert "token file" in said
