"""A real Kubernetes control plane for the tests: etcd and kube-apiserver, and kube-scheduler where a test asks for it.

Here live the Go module that pins them (go.mod, tools.go), the build (build.py), the server (server.py) with the
process that owns it (supervisor.py), the pytest fixtures (fixtures.py) and the tests of all that.
May touch: the build cache outside the work tree, one run folder per control plane under the system's temporary
folder, ports of 127.0.0.1 that were free.
Must never: leave a process or a folder behind, whichever way the tests end; listen on anything but loopback; write
into the work tree; commit a binary; import koordpy, because it judges koordpy from outside.
Tests share one control plane per session and keep apart by namespace and by name prefix.
"""
