"""The binary under test: started on a free port with data of its own, killed, stopped, started again.

With FERRYMQ_TEST_BROKER=host:port the tests that need nothing but a broker run against that one instead, which shows
that a test expects what MQTT says and not what FerryMQ happens to do."""

import os
import pathlib
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("FERRYMQ_TEST_BINARY", ROOT / "target/release/ferrymq"))
EXTERNAL = os.environ.get("FERRYMQ_TEST_BROKER")
START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Address:
    """Where a broker listens."""

    def __init__(self, host, port):
        self.host, self.port = host, port


class Server(Address):
    """A `ferrymq serve` with its data directory; the same port over restarts, as clients expect."""

    def __init__(self, data_dir, config=None, ports=None):
        ports = ports or [free_port()]
        super().__init__("127.0.0.1", ports[0])
        self.ports = ports
        self.data_dir = pathlib.Path(data_dir)
        self.config = config
        self.log = self.data_dir.parent / (self.data_dir.name + ".log")
        self.process = None

    def command(self):
        command = [str(BINARY), "serve"]
        if self.config is not None:
            return command + ["--config", str(self.config), "--data-dir", str(self.data_dir)]
        return command + ["--data-dir", str(self.data_dir), "--listen", f"mqtt=127.0.0.1:{self.port}"]

    def spawn(self):
        """Starts the process and does not wait until it listens."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def start(self):
        """Starts it and waits until it listens."""
        self.spawn()
        deadline = time.monotonic() + START_TIMEOUT_S
        for port in self.ports:
            self.await_listening(port, deadline)
        return self

    def await_listening(self, port, deadline):
        """Until the port answers; the wait between two tries is a wait for the process to die."""
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                pass
            try:
                code = self.process.wait(timeout=0.005)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError(f"the server ended with {code} instead of listening:\n{self.output()}")
        raise AssertionError(f"nothing listens on port {port} after {START_TIMEOUT_S} s:\n{self.output()}")

    def kill(self):
        """kill -9: the process, not the power."""
        self.process.kill()
        self.process.wait()

    def terminate(self, how=signal.SIGTERM):
        """An orderly end; the exit status."""
        self.process.send_signal(how)
        return self.process.wait(timeout=STOP_TIMEOUT_S)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def output(self):
        return self.log.read_text(errors="replace")


def external():
    """The broker named by FERRYMQ_TEST_BROKER, or None."""
    if not EXTERNAL:
        return None
    host, _, port = EXTERNAL.rpartition(":")
    return Address(host or "127.0.0.1", int(port))
