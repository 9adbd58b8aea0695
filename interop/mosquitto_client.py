"""mosquitto_pub and mosquitto_sub as child processes; a subscriber's arrivals are lines in a queue."""

import queue
import subprocess
import threading

TIMEOUT_S = 10
VERSIONS = {"3.1": "mqttv31", "3.1.1": "mqttv311", "5": "mqttv5"}


def _common(broker, version):
    return ["-h", broker.host, "-p", str(broker.port), "-V", VERSIONS[version]]


def publish(broker, version, topic, *options, payload=None, stdin=None):
    """Runs mosquitto_pub to its end; the finished process."""
    message = ["-m", payload] if payload is not None else []
    command = ["mosquitto_pub", *_common(broker, version), "-t", topic, *message, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, input=stdin or "")


class Subscriber:
    """A running mosquitto_sub that is subscribed. Each arrival is a line made by `form`, one of its -F formats."""

    def __init__(self, broker, version, topic, *options, form="%t|%q|%r|%p"):
        command = ["stdbuf", "-oL", "mosquitto_sub", *_common(broker, version), "-t", topic, "-d",
                   "-F", "MESSAGE " + form, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.lines, self.subscribed, self.seen = queue.Queue(), threading.Event(), []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        assert self.subscribed.wait(TIMEOUT_S), "\n".join(self.seen)

    def _read(self):
        for raw in self.process.stdout:
            line = raw.decode(errors="replace").rstrip("\n")
            self.seen.append(line)
            if line.startswith("MESSAGE "):
                self.lines.put(line[len("MESSAGE "):])
            elif line.startswith("Subscribed"):
                self.subscribed.set()

    def receive(self, timeout=TIMEOUT_S):
        """The next arrival."""
        return self.lines.get(timeout=timeout)

    def finish(self, timeout=TIMEOUT_S):
        """Waits for its end (with -C), then the exit status."""
        code = self.process.wait(timeout=timeout)
        self.reader.join(timeout)
        return code

    def close(self, kill=False):
        """An orderly end, or a lost client."""
        if self.process.poll() is None:
            self.process.kill() if kill else self.process.terminate()
        self.process.wait(timeout=TIMEOUT_S)
        self.reader.join(TIMEOUT_S)
        self.process.stdout.close()
