"""The walk of one Pod, from the watch event to the bind, and the one exit for what fails.

Reads top to bottom: scheduler wires and loops; event_handlers is the only door in; scheduling_cycle picks a node and
holds it, and never awaits; binding_cycle writes the bind; failure undoes, queues again and tells the user; diagnosis
words the refusal.
May touch: framework, cache, queue; binding_cycle and failure write to the cluster.
Never: plugins by name, sockets, the clock of the machine.
"""
