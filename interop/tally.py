"""What became of every message of a kill loop: a byte each, so that a long run fits in memory."""

ACKED, RECEIVED, RESENT = 1, 2, 4


class Tally:
    """What was sent, acknowledged and received, by publisher, and every breach of a promise."""

    def __init__(self):
        self.crashes, self.sent, self.acknowledged, self.received = 0, 0, 0, 0
        self.redelivered, self.duplicates, self.unmarked, self.disorder = 0, 0, 0, 0
        self.sessions_lost = 0
        self.messages, self.latest = {}, {}
        self.since_crash = set()

    def _of(self, publisher, number):
        """The publisher's messages, a byte of flags each, `number` among them."""
        flags = self.messages.setdefault(publisher, bytearray())
        if number >= len(flags):
            flags.extend(bytes(number + 1 - len(flags)))
        return flags

    def on_crash(self):
        self.crashes += 1
        self.since_crash.clear()

    def on_sent(self, publisher, number, again):
        if again:
            self._of(publisher, number)[number] |= RESENT
        else:
            self.sent += 1

    def on_acknowledged(self, publisher, number):
        flags = self._of(publisher, number)
        self.acknowledged += not flags[number] & ACKED
        flags[number] |= ACKED

    def on_received(self, publisher, number, qos, dup):
        flags = self._of(publisher, number)
        if flags[number] & RECEIVED:
            self.on_again(publisher, number, qos, dup or flags[number] & RESENT)
            return
        flags[number] |= RECEIVED
        self.since_crash.add((publisher, number))
        self.received += 1
        self.disorder += number < self.latest.get(publisher, -1)
        self.latest[publisher] = max(number, self.latest.get(publisher, -1))

    def on_again(self, publisher, number, qos, explained):
        """DUP, a resend of the publisher's, or a crash since the first delivery explain a second one of QoS 1."""
        if qos == 2:
            self.duplicates += 1
        else:
            self.redelivered += 1
            self.unmarked += not explained and (publisher, number) in self.since_crash

    @property
    def lost(self):
        """Acknowledged and not received. Before the end they may still be on their way."""
        return sum(flags.count(ACKED) + flags.count(ACKED | RESENT) for flags in self.messages.values())

    def breaches(self):
        names = ("lost", "duplicates", "unmarked", "disorder", "sessions_lost")
        return {name: getattr(self, name) for name in names if getattr(self, name)}

    def progress(self):
        """Before the end, when what is missing may still come."""
        return (f"rounds {self.crashes}  sent {self.sent}  acknowledged {self.acknowledged}  received {self.received}  "
                f"on their way {self.sent - self.received}  duplicates {self.duplicates}")

    def __str__(self):
        return (f"rounds {self.crashes}  sent {self.sent}  acknowledged {self.acknowledged}  received {self.received}  "
                f"lost {self.lost}  duplicates {self.duplicates} (QoS 2)  redelivered {self.redelivered} (QoS 1)  "
                f"unmarked {self.unmarked}  out of order {self.disorder}  sessions lost {self.sessions_lost}")
