"""The demo's files are plain manifests: a real kube-apiserver takes every one of them, strictly."""

from pathlib import Path

from koordpy.cluster.embedded.patch import merge
from koordpy.scenario.files import REST, matching, read_all
from tests.controlplane.server import ControlPlane, collection_path

DEMO = Path(__file__).parents[2] / "config" / "demo"


def test_a_real_server_takes_every_manifest_of_the_demo(control_plane: ControlPlane, namespace: str) -> None:
    written = read_all(DEMO, matching(DEMO, [REST]))
    kinds = {manifest.document["kind"] for manifest in written}
    assert kinds == {"Node", "Device", "Pod"}
    for manifest in written:
        here = {"metadata": {"namespace": namespace}} if manifest.document["kind"] == "Pod" else {}
        document = merge(manifest.document, here)
        path = f"{collection_path(document)}?dryRun=All&fieldValidation=Strict"
        status, answer = control_plane.request("POST", path, document)
        assert status == 201, f"{manifest.file}:{manifest.line}: {answer}"
