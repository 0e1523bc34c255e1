"""The cluster: what the API server says, and what is written to it.

Lives here: the Cluster protocol with its two houses (the real API server in `kube`, one in memory in `embedded`),
bytes to objects, list and watch, the local stores, Kubernetes Events, and a fake kubelet that is a client of either.
May touch: sockets, credentials, its own stores; the event loop's time.
Never: the cache, the queue, plugins or the scheduler; they are told through handlers. One bad object, one raising
handler or one lost connection never stops a watch.

A Pod walks reflector.py → informer.py → handlers, and back out through protocol.py.
"""
