"""The real API server.

Lives here: credentials (the one file that imports the official client), transport (bytes over HTTP), and the Cluster
over both.
May touch: kubeconfig and token files, sockets, the event loop's time.
Never: what objects mean; repeating a request of its own accord, except once after a 401 with fresh credentials.
"""
