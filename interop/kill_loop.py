"""kill -9 at random moments under QoS 1 and QoS 2 load, and what must hold all the same.

Publishers and subscribers with persistent sessions keep their own half of the session (what is in flight, which QoS 2
identifiers were received) over reconnects, as MQTT 4.1 asks of clients. Run it as a script for a long run:

    .venv/bin/python interop/kill_loop.py --rounds 2000

Sleepers subscribe, get a backlog and stay away until the end: their messages outlive every crash. With a small log
(files of 64 KiB, freed as soon as may be) these messages are written anew many times over.

Counted as wrong: an acknowledged message that never arrives, a QoS 2 message that arrives twice, a QoS 1 message that
arrives twice with neither the DUP flag nor a crash or a resend to explain it, first deliveries of a publisher out of
order, a session that is gone, a server that ends by itself or does not start."""

import argparse
import pathlib
import random
import select
import sys
import tempfile
import time

import raw_mqtt as mqtt
from server import Server
from tally import Tally

WINDOW = 100
MAX_BEHIND = 4_000
STALL_S = 20
LONGEST_ROUND_S = 0.9
BACKLOG = 300
SMALL_LOG = "[queue_manager.log]\nextent_size = 65536\nreclaim_after = 1048576\n"


class Session:
    """A client's half of a persistent session, connected or not."""

    def __init__(self, name, tally):
        self.name, self.tally = name, tally
        self.connection, self.connected, self.known = None, False, False

    def connect(self, server):
        """One try; False if nobody listens."""
        try:
            self.connection = mqtt.Connection(server.host, server.port)
        except OSError:
            return False
        self.connection.output += mqtt.connect(self.name, clean=False)
        self.connection.flush()
        return True

    def handle(self):
        """Takes what has arrived, and lets go of a connection that has ended."""
        for kind, flags, body in self.connection.received():
            if kind == mqtt.CONNACK:
                self.on_connack(body)
            else:
                self.on_packet(kind, flags, body)
        if self.connection.closed:
            self.connection.close()
            self.connection, self.connected = None, False

    def on_connack(self, body):
        assert body[1] == 0, f"{self.name} was refused with {body[1]}"
        self.connected = True
        if self.known and not body[0] & 1:
            self.tally.sessions_lost += 1
        self.known = True
        self.resume()

    def send(self, data):
        self.connection.output += data

    def disconnect(self):
        """Goes away; the session stays."""
        self.connection.close()
        self.connection, self.connected = None, False


class Publisher(Session):
    """Sends numbered messages, at most WINDOW of them unacknowledged."""

    def __init__(self, name, qos, tally, tree="kill"):
        super().__init__(name, tally)
        self.qos, self.topic = qos, f"{tree}/{qos}/{name}"
        self.number, self.mid, self.paused = 0, 0, False
        self.inflight = {}

    def resume(self):
        for mid, (number, released) in self.inflight.items():
            if released:
                self.send(mqtt.acknowledgement(mqtt.PUBREL, mid))
            else:
                self.tally.on_sent(self.name, number, again=True)
                self.send(mqtt.publish(self.topic, self.payload(number), self.qos, mid, dup=True))

    def payload(self, number):
        return b"%d %s" % (number, b"." * 100)

    def work(self):
        while self.connected and not self.paused and len(self.inflight) < WINDOW:
            self.publish_next()

    def publish_next(self):
        self.mid = self.mid % 65535 + 1
        while self.mid in self.inflight:
            self.mid = self.mid % 65535 + 1
        self.inflight[self.mid] = (self.number, False)
        self.tally.on_sent(self.name, self.number, again=False)
        self.send(mqtt.publish(self.topic, self.payload(self.number), self.qos, self.mid))
        self.number += 1

    def on_packet(self, kind, _flags, body):
        mid = body[0] << 8 | body[1]
        if kind == mqtt.PUBREC:
            self.send(mqtt.acknowledgement(mqtt.PUBREL, mid))
        if mid not in self.inflight:
            return
        number, _ = self.inflight[mid]
        self.tally.on_acknowledged(self.name, number)
        if kind == mqtt.PUBREC:
            self.inflight[mid] = (number, True)
        else:
            del self.inflight[mid]


class Subscriber(Session):
    """Takes messages; at QoS 2 it remembers the identifiers that are not released yet."""

    def __init__(self, name, qos, tally, tree="kill"):
        super().__init__(name, tally)
        self.qos, self.filter = qos, f"{tree}/{qos}/+"
        self.subscribed, self.unreleased = False, set()

    def resume(self):
        if not self.subscribed:
            self.send(mqtt.subscribe(1, self.filter, self.qos))

    def work(self):
        """Nothing of its own to say."""

    def on_packet(self, kind, flags, body):
        if kind == mqtt.PUBLISH:
            self.on_publish(flags, *mqtt.split_publish(flags, body))
        elif kind == mqtt.PUBREL:
            mid = body[0] << 8 | body[1]
            self.unreleased.discard(mid)
            self.send(mqtt.acknowledgement(mqtt.PUBCOMP, mid))
        elif kind == mqtt.SUBACK:
            assert body[2] == self.qos, f"granted {body[2]}"
            self.subscribed = True

    def on_publish(self, flags, topic, mid, payload):
        if self.qos == 1 or mid not in self.unreleased:
            publisher, number = topic.rsplit("/", 1)[1], int(payload.split(b" ", 1)[0])
            self.tally.on_received(publisher, number, self.qos, bool(flags & 8))
        if self.qos == 2:
            self.unreleased.add(mid)
        self.send(mqtt.acknowledgement(mqtt.PUBREC if self.qos == 2 else mqtt.PUBACK, mid))


def make_server(directory, small_log):
    """A server with default settings, or one that reclaims its log all the time."""
    server = Server(directory / "data")
    if small_log:
        server.config = directory / "ferrymq.toml"
        listener = f'[[queue_manager.listener]]\naddress = "127.0.0.1:{server.port}"\n'
        server.config.write_text("[[queue_manager]]\n" + SMALL_LOG + listener)
    return server


class Loop:
    """The server, the sessions and the dice."""

    def __init__(self, directory, seed, small_log=False):
        self.server = make_server(pathlib.Path(directory), small_log)
        self.tally, self.dice = Tally(), random.Random(seed)
        self.subscribers = [Subscriber(f"kill-sub-{qos}", qos, self.tally) for qos in (1, 2)]
        self.publishers = [Publisher(f"kill-pub-{n}-{qos}", qos, self.tally) for qos in (1, 2) for n in range(2)]
        self.sleepers = [Subscriber(f"kill-sleeper-{qos}", qos, self.tally, "sleep") for qos in (1, 2)]
        self.sessions = self.subscribers + self.publishers

    def run(self, rounds, report=lambda tally: None):
        """All rounds; the tally. The server is left dead."""
        self.server.spawn()
        self.until(lambda: all(s.subscribed for s in self.subscribers), publishing=False)
        self.until(lambda: all(p.known for p in self.publishers), publishing=False)
        self.put_to_sleep()
        for _ in range(rounds):
            self.serve_for(self.dice.uniform(0.0, LONGEST_ROUND_S))
            self.crash()
            report(self.tally)
            self.server.spawn()
        self.sessions += self.sleepers
        self.drain()
        self.server.kill()
        return self.tally

    def put_to_sleep(self):
        """Gives the sleepers a backlog that stays while everything else comes and goes."""
        self.sessions += self.sleepers
        self.until(lambda: all(s.subscribed for s in self.sleepers), publishing=False)
        for sleeper in self.sleepers:
            self.sessions.remove(sleeper)
            sleeper.disconnect()
        early = [Publisher(f"kill-early-{qos}", qos, self.tally, "sleep") for qos in (1, 2)]
        self.sessions += early
        self.until(lambda: all(p.number >= BACKLOG for p in early), publishing=False)
        for publisher in early:
            publisher.paused = True
        self.until(lambda: not any(p.inflight for p in early), publishing=False)
        for publisher in early:
            self.sessions.remove(publisher)
            publisher.disconnect()

    def serve_for(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.step(min(left, 0.005))

    def crash(self):
        """Kills the server; what it had sent before is read, as a client would."""
        self.check_alive()
        self.server.kill()
        while any(s.connection for s in self.sessions):
            self.handle_ready(0.1)
        self.tally.on_crash()

    def drain(self):
        """Lets everything in flight arrive, then one more message each, behind which nothing of it can be."""
        for _ in range(2):
            self.until(lambda: all(p.connected for p in self.publishers), publishing=False)
            for publisher in self.publishers:
                publisher.publish_next()
            self.until(self.is_settled, publishing=False)

    def is_settled(self):
        return not any(p.inflight for p in self.publishers) and self.tally.received >= self.tally.sent

    def until(self, done, publishing):
        """Steps until `done()`, or until nothing has moved for so long that it never will."""
        moved = time.monotonic()
        for publisher in self.publishers:
            publisher.paused = not publishing
        while not done() and time.monotonic() - moved < STALL_S:
            self.check_alive()
            if self.step(0.01):
                moved = time.monotonic()
        for publisher in self.publishers:
            publisher.paused = False

    def step(self, timeout):
        """Connects who is not, lets each work, and handles what arrives within `timeout` seconds."""
        for session in self.sessions:
            if session.connection is None and not session.connect(self.server):
                break
        if self.tally.sent - self.tally.received < MAX_BEHIND:
            for session in self.sessions:
                session.work()
        return self.handle_ready(timeout)

    def handle_ready(self, timeout):
        """True if something arrived. Without connections this is the wait between two tries to connect."""
        live = [s for s in self.sessions if s.connection]
        for session in live:
            session.connection.flush()
        waiting = [s.connection for s in live if s.connection.output]
        readable, _, _ = select.select([s.connection for s in live], waiting, [], timeout)
        for session in live:
            if session.connection in readable:
                session.handle()
        return bool(readable)

    def log_bytes(self):
        """What the data directory takes."""
        return sum(file.stat().st_size for file in self.server.data_dir.rglob("*") if file.is_file())

    def check_alive(self):
        code = self.server.process.poll()
        assert code is None, f"the server ended by itself with {code}:\n{self.server.output()[-4000:]}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=100)
    arguments.add_argument("--small-log", action="store_true", help="reclaim the log all the time")
    arguments.add_argument("--seed", type=int, default=None, help="repeats the dice, not the timing of the machine")
    options = arguments.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(2**32)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        loop = Loop(directory, seed, options.small_log)
        try:
            tally = loop.run(options.rounds, lambda t: t.crashes % 20 == 0 and print(t.progress(), flush=True))
            print(f"data directory: {loop.log_bytes() >> 10} KiB")
        finally:
            loop.server.stop()
    print(f"all done: {tally}")
    sys.exit(f"broken promises: {tally.breaches()}" if tally.breaches() else 0)


if __name__ == "__main__":
    main()
