"""The two decorators that turn functions into hooks."""

from typing import Final

import pluggy

PROJECT: Final = "koordpy"

hookspec: Final = pluggy.HookspecMarker(PROJECT)
hookimpl: Final = pluggy.HookimplMarker(PROJECT)
