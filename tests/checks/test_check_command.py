"""koordpy check: every mistake of a file, with its line; exit 0 if there is none, 1 if there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from koordpy.checks.files import Finding, Plugins, Report, Weight, check
from koordpy_api import Problem
from tests.cli.test_commands import koordpy

HERE = Path(__file__).parent
INPUTS = HERE.parent / "inputs"
POD = """apiVersion: v1
kind: Pod
metadata: {name: serge}
spec:
  schedulerName: koordpy-scheduler
  containers:
    - name: main
      image: registry.example.test/serge:1
      resources: {limits: {%s}}
"""
CONFIGURATION = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: gpu
"""


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return Plugins()


def look_at(*names: str | Path, plugins: Plugins, stdin: bytes = b"") -> Report:
    return check(map(str, names), lambda: stdin, plugins)


def said(report: Report) -> list[str]:
    """Without the file."""
    return [str(finding).partition(": ")[2] for finding in report.findings]


def test_six_mistakes_of_six_kinds_are_all_told_with_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    done = koordpy("check", "six-mistakes.yaml")
    page = (HERE.parents[1] / "docs" / "checking.md").read_text()
    (shown,) = re.findall(r"```console\n\$ koordpy check six-mistakes.yaml\n(.*?)```", page, re.DOTALL)
    assert done.stdout + done.stderr == shown
    assert len(done.stdout.splitlines()) == 6
    assert done.returncode == 1


def test_a_file_without_mistakes_ends_with_zero() -> None:
    done = koordpy("check", str(INPUTS / "17-daemonset-monitor.yaml"))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "no problem; objects: 1, files: 1\n"


def test_annotation_values_that_are_no_texts_are_both_named() -> None:
    done = koordpy("check", str(INPUTS / "18-pod-unquoted-annotation.yaml"))
    assert done.returncode == 1
    first, second = done.stdout.splitlines()
    place = "18-pod-unquoted-annotation.yaml:8: Pod default/cotton-raw: "
    assert first.endswith(f'{place}metadata.annotations["nvidia.com/use-gpuuuid"] is 1: must be a text; quote it: "1"')
    assert 'metadata.annotations["koordpy.test/dedicated"] is true: must be a text; quote it: "true"' in second
    assert "Traceback" not in done.stderr


def test_a_demand_that_no_plugin_hears_yet_is_told_to_our_pods_only(plugins: Plugins) -> None:
    ours = (POD % "cpu: 1").replace("  containers:", "  resourceClaims: [{name: gpu}]\n  containers:")
    theirs = ours.replace("koordpy-scheduler", "default-scheduler")
    assert said(look_at("-", plugins=plugins, stdin=theirs.encode())) == []
    (told,) = said(look_at("-", plugins=plugins, stdin=ours.encode()))
    assert told == "Pod default/serge: spec: koordpy does not look at spec.resourceClaims yet"


def test_an_export_of_a_cluster_is_clean(plugins: Plugins) -> None:
    report = look_at(INPUTS / "19-list-export.yaml", plugins=plugins)
    assert (report.findings, report.objects) == ([], 3)


def test_a_folder_is_looked_through_and_other_files_are_left_alone(plugins: Plugins, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("a.yaml", "deep/b.yml", "notes.txt"):
        (tmp_path / name).write_text("kind: Pod\n")
    report = look_at(tmp_path, plugins=plugins)
    assert report.files == 2
    assert {Path(finding.file).name for finding in report.findings} == {"a.yaml", "b.yml"}


def test_standard_input_is_read_where_a_dash_stands() -> None:
    command = [sys.executable, "-m", "koordpy", "check", "-"]
    text = POD % 'koordinator.sh/gpu: "150"'
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("stdin:9: Pod default/serge: ")


def test_files_that_cannot_be_read_and_empty_folders_are_problems(plugins: Plugins, tmp_path: Path) -> None:
    report = look_at(tmp_path / "none.yaml", tmp_path, plugins=plugins)
    first, second = map(str, report.findings)
    assert first == f"{tmp_path}/none.yaml: cannot be read: No such file or directory"
    assert second == f"{tmp_path}: no *.yaml or *.yml in this folder"


def test_a_kind_that_nobody_reads_is_a_note_and_no_problem(plugins: Plugins) -> None:
    stdin = b"apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n"
    report = look_at("-", plugins=plugins, stdin=stdin)
    assert said(report) == ["note: Service shop/web: nobody here reads this kind"]
    assert report.count(Weight.MISTAKE) == 0


def test_a_likely_misspelling_is_a_warning(plugins: Plugins) -> None:
    text = (POD % "cpu: 1").replace("limits", "limit")
    report = look_at("-", plugins=plugins, stdin=text.encode())
    path = "spec.containers[0].resources.limit"
    assert said(report) == [f"warning: Pod default/serge: {path}: nobody reads this; is limits meant?"]


@pytest.mark.parametrize(
    ("requests", "limits", "wrong"),
    [
        (
            "example.com/foo: 1",
            "cpu: 1",
            '["example.com/foo"] is 1: limit must be set for non overcommitable resources',
        ),
        ("hugepages-2Mi: 4Mi", "cpu: 1", ".hugepages-2Mi is 4Mi: limit must be set for non overcommitable resources"),
        (
            "example.com/foo: 1",
            "example.com/foo: 2",
            '["example.com/foo"] is 1: must be equal to example.com/foo limit of 2',
        ),
        ("cpu: 3", "cpu: 2500m", ".cpu is 3: must be less than or equal to cpu limit of 2500m"),
    ],
    ids=["an extended resource without a limit", "hugepages without a limit", "less than the limit", "more cpu"],
)
def test_a_request_that_the_api_server_refuses_for_its_limit_is_told(
    plugins: Plugins, requests: str, limits: str, wrong: str
) -> None:
    text = (POD % limits).replace("resources: {", f"resources: {{requests: {{{requests}}}, ")
    (told,) = said(look_at("-", plugins=plugins, stdin=text.encode()))
    assert told == f"Pod default/serge: spec.containers[0].resources.requests{wrong}"


@pytest.mark.parametrize(
    ("requests", "limits"),
    [("example.com/foo: 1000m", "example.com/foo: 1"), ("cpu: 1", "cpu: 2"), ("kubernetes.io/x: 1", "cpu: 1")],
    ids=["the same in other words", "less cpu", "a name of Kubernetes' own"],
)
def test_a_request_that_its_limit_allows_is_none_of_them(plugins: Plugins, requests: str, limits: str) -> None:
    text = (POD % limits).replace("resources: {", f"resources: {{requests: {{{requests}}}, ")
    assert said(look_at("-", plugins=plugins, stdin=text.encode())) == []


def test_a_limit_that_cannot_be_read_is_not_told_as_missing(plugins: Plugins) -> None:
    text = (POD % "example.com/foo: much").replace("resources: {", "resources: {requests: {example.com/foo: 1}, ")
    (told,) = said(look_at("-", plugins=plugins, stdin=text.encode()))
    assert 'limits["example.com/foo"] is much: must be a quantity' in told


# -- what plugins say --------------------------------------------------------------------------------------------------


def test_a_pod_is_told_what_pre_filter_would_tell_it(plugins: Plugins) -> None:
    text = POD % 'koordinator.sh/gpu: "50", nvidia.com/gpu: "1"'
    report = look_at("-", plugins=plugins, stdin=text.encode())
    (line,) = said(report)
    assert line == (
        "Pod default/serge: spec.containers[0].resources: "
        "invalid resource device requests: [koordinator.sh/gpu nvidia.com/gpu]; leave out nvidia.com/gpu"
    )


def test_a_workloads_template_is_told_with_its_place(plugins: Plugins) -> None:
    template = "\n".join(f"        {line}" for line in (POD % 'koordinator.sh/gpu: "150"').splitlines()[3:])
    head = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly, namespace: mill}\n"
    text = f"{head}spec:\n  jobTemplate:\n    spec:\n      template:\n{template}\n"
    report = look_at("-", plugins=plugins, stdin=text.encode())
    (finding,) = report.findings
    assert (finding.line, finding.about) == (13, "CronJob mill/nightly")
    assert finding.problem.path == "spec.jobTemplate.spec.template.spec.containers[0].resources"


def test_what_follows_from_a_mistake_is_not_told_as_another(plugins: Plugins) -> None:
    text = POD % 'koordinator.sh/gpu-core: "50", koordinator.sh/gpu-memory: 8GB'
    report = look_at("-", plugins=plugins, stdin=text.encode())
    assert [finding.problem.value for finding in report.findings] == ["8GB"]


def test_an_allocation_counts_only_on_a_pod_that_is_bound(plugins: Plugins) -> None:
    head = "metadata:\n  name: serge\n  annotations: {scheduling.koordinator.sh/device-allocated: nonsense}"
    unbound = (POD % "cpu: 1").replace("metadata: {name: serge}", head)
    assert look_at("-", plugins=plugins, stdin=unbound.encode()).findings == []
    bound = unbound.replace("spec:\n", "spec:\n  nodeName: n1\n", 1)
    (finding,) = look_at("-", plugins=plugins, stdin=bound.encode()).findings
    assert (finding.line, finding.problem.path) == (
        5,
        'metadata.annotations["scheduling.koordinator.sh/device-allocated"]',
    )


def test_a_device_is_told_what_the_books_would_report(plugins: Plugins) -> None:
    text = """apiVersion: scheduling.koordinator.sh/v1alpha1
kind: Device
metadata: {name: loom-1}
spec:
  devices:
    - {type: gpu, minor: 0, health: true, resources: {koordinator.sh/gpu-core: 100}}
    - {type: gpu, minor: 0, health: true, resources: {koordinator.sh/gpu-core: 1OO}}
"""
    report = look_at("-", plugins=plugins, stdin=text.encode())
    assert sorted((finding.line, finding.problem.path) for finding in report.findings) == [
        (6, "spec.devices[0].minor"),
        (7, "spec.devices[1].minor"),
        (7, 'spec.devices[1].resources["koordinator.sh/gpu-core"]'),
    ]


def test_the_plugins_of_a_given_configuration_are_asked(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIGURATION + "    plugins: {multiPoint: {disabled: [{name: DeviceShare}]}}\n")
    text = (POD % 'koordinator.sh/gpu: "150"').encode()
    assert look_at("-", plugins=Plugins(config), stdin=text).findings == []


def test_a_configuration_that_is_wrong_itself_is_refused(tmp_path: Path) -> None:
    config, pod = tmp_path / "config.yaml", tmp_path / "pod.yaml"
    config.write_text(CONFIGURATION + "    nonsense: 1\n")
    pod.write_text(POD % "cpu: 1")
    done = koordpy("check", str(pod), "--config", str(config))
    assert done.returncode == 2
    assert done.stderr.startswith(f"koordpy: {config}")
    assert "profiles[0].nonsense" in done.stderr


# -- configurations ----------------------------------------------------------------------------------------------------


def test_a_configuration_is_checked_beside_objects_at_its_own_lines(plugins: Plugins) -> None:
    text = f"{POD % 'cpu: 1'}---\n{CONFIGURATION}podMaxBackoffSecond: 3\n"
    (finding,) = look_at("-", plugins=plugins, stdin=text.encode()).findings
    assert (finding.line, finding.about) == (15, "KubeSchedulerConfiguration")
    assert finding.problem.path == "podMaxBackoffSecond"


def test_a_configuration_that_holds_is_no_problem(plugins: Plugins) -> None:
    assert look_at("-", plugins=plugins, stdin=CONFIGURATION.encode()).count(Weight.MISTAKE) == 0


# -- the line itself ---------------------------------------------------------------------------------------------------


def test_a_finding_is_one_line_whatever_the_file_says() -> None:
    finding = Finding("f.yaml", 3, "Pod default/a\nb", Problem("x", "two\nlines\x1b[2J", "wrong"))
    assert str(finding) == "f.yaml:3: Pod default/a\\nb: x is 'two\\nlines\\x1b[2J': wrong"
