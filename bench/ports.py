"""Ports for ranks that meet on this machine."""
import random
import socket


def free_port():
    """Below the ports that the kernel gives to connections: one of these could take it before rank 0 listens."""
    while True:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as listener:
            try:
                listener.bind(("", port))
                return port
            except OSError:
                pass
