"""Two plugins that write the same annotation."""

from koordpy_api import Handle, NoArgs, PodPatch, PreBindPlan, hookimpl

ZONE = "acme.io/zone"


class ZoneByLabel:
    """Writes acme.io/zone."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl
    def pre_bind(self, node_name: str) -> PreBindPlan:
        return PreBindPlan(PodPatch({ZONE: "by label"}))


class ZoneByRack:
    """Writes acme.io/zone as well."""

    Args = NoArgs

    def __init__(self, args: NoArgs, handle: Handle) -> None: ...

    @hookimpl
    def pre_bind(self, node_name: str) -> PreBindPlan:
        return PreBindPlan(PodPatch({ZONE: "by rack"}))
