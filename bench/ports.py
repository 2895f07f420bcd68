"""Ports for ranks that meet on this machine."""
import random
import socket

_claims = []  # kept open until this process ends


def _claim(port):
    """Claims the port unless another test has it: by the abstract name of a socket, which leaves nothing behind."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0hpcbench-test-port-{port}")
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True


def free_port():
    """Below the ports that the kernel gives to connections: one of these could take it before rank 0 listens."""
    while True:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as listener:
            try:
                listener.bind(("", port))
            except OSError:
                continue
        if _claim(port):
            return port
