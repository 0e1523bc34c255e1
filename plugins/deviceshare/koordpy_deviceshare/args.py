"""What DeviceShare reads from `pluginConfig`."""

from koordpy_api.args import PluginArgs


class DeviceShareArgs(PluginArgs):
    """Nothing can be set yet. An argument of upstream's is an unknown key, so that no file believes it was heard."""
