"""The demo's receiver of webhooks, and the certificate for receivers of one's own."""

import socket
import ssl
import threading

from transactions.demo.receiver import receiving


def test_the_certificate_for_other_receivers_is_trusted_as_the_demos_own() -> None:
    with receiving() as receiver, socket.create_server(("127.0.0.1", 0)) as listener:
        folder = receiver.authorities.parent
        own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        own.load_cert_chain(folder / "cert.pem", folder / "key.pem")

        def serve() -> None:
            connection, _ = listener.accept()
            with own.wrap_socket(connection, server_side=True) as secure:
                secure.sendall(b"hello")

        thread = threading.Thread(target=serve)
        thread.start()
        trusted = ssl.create_default_context(cafile=str(receiver.authorities))
        with (
            socket.create_connection(listener.getsockname()) as connection,
            trusted.wrap_socket(connection, server_hostname="localhost") as secure,
        ):
            assert secure.recv(5) == b"hello"
        thread.join()
    assert not folder.exists()
