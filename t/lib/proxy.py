# SPDX-License-Identifier: Apache-2.0
"""A wire between client and server that can go silent, and that knows when an answered request
passed."""
import selectors
import socket
import threading
import time


class Proxy:
    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.silent = False  # what is sent is lost, connections stay
        self.broken = False  # connections end at once
        self.requested = self.answered = 0.0  # moments of the last request, and of the last
        self.connections = 0                  # request that had an answer
        self.gap = 0.0                        # the longest time between two such requests
        self._other, self._closing = {}, False
        self._waiting = selectors.DefaultSelector()
        self._waiting.register(self.listener, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _accept(self):
        client, _ = self.listener.accept()
        self.connections += 1
        if self.broken:
            client.close()
            return
        try:
            server = socket.create_connection(self.target, timeout=2)
        except OSError:
            client.close()
            return
        self._other[client], self._other[server] = server, client
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._waiting.register(one, selectors.EVENT_READ,
                                   "client" if one is client else "server")

    def _drop(self, one):
        for each in (one, self._other.get(one)):
            if each in self._other:
                del self._other[each]
                self._waiting.unregister(each)
                each.close()

    def _pass(self, one, side):
        now = time.monotonic()
        try:
            data = one.recv(65536)
            if self.silent:
                return  # lost on the way
            if data:
                if side == "client":
                    self.requested = now
                else:
                    if self.answered:
                        self.gap = max(self.gap, self.requested - self.answered)
                    self.answered = self.requested
                self._other[one].sendall(data)
            else:
                self._drop(one)
        except OSError:
            self._drop(one)

    def _run(self):
        while not self._closing:
            for event, _ in self._waiting.select(0.05):
                if event.fileobj is self.listener:
                    self._accept()
                elif event.fileobj in self._other:
                    self._pass(event.fileobj, event.data)
            if self.broken:
                for one in list(self._other):
                    self._drop(one)

    def close(self):
        self._closing = True
        self._thread.join()
        for one in list(self._other):
            one.close()
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
