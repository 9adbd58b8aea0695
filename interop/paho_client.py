"""Eclipse Paho as the tests want it: every answer is awaited, every arrival is in a queue."""

import queue
import socket
import time

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

TIMEOUT_S = 10
# Paho reads the reason of a DISCONNECT only if properties follow it; otherwise it reports this.
UNREAD = 0
PROTOCOLS = {"3.1": paho.MQTTv31, "3.1.1": paho.MQTTv311, "5": paho.MQTTv5}


def properties(packet, **values):
    """`properties("PUBLISH", MessageExpiryInterval=5)`; None without values."""
    if not values:
        return None
    out = Properties(getattr(PacketTypes, packet))
    for key, value in values.items():
        for one in value if isinstance(value, list) and key != "UserProperty" else [value]:
            setattr(out, key, one)
    return out


class Refused(Exception):
    """The server answered CONNECT with an error."""


class Client:
    """A connected client. `connack` has reason and properties, `session_present` what the server said of the session."""

    def __init__(self, broker, version="5", client_id="", clean=True, will=None, keepalive=60, manual_ack=False,
                 **connect_properties):
        five = version == "5"
        options = {} if five else {"clean_session": clean}
        self.paho = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id=client_id, protocol=PROTOCOLS[version],
                                manual_ack=manual_ack, reconnect_on_failure=False, **options)
        self.client_id, self.version = client_id, version
        self.messages, self.subacks, self.unsubacks = queue.Queue(), queue.Queue(), queue.Queue()
        self.pubacks, self.disconnects, connacks = queue.Queue(), queue.Queue(), queue.Queue()
        self.paho.max_inflight_messages_set(1000)
        self.paho.on_connect = lambda c, u, flags, reason, props: connacks.put((flags, reason, props))
        self.paho.on_message = lambda c, u, message: self.messages.put(message)
        self.paho.on_subscribe = lambda c, u, mid, reasons, props: self.subacks.put((mid, reasons))
        self.paho.on_unsubscribe = lambda c, u, mid, reasons, props: self.unsubacks.put((mid, reasons))
        self.paho.on_publish = lambda c, u, mid, reason, props: self.pubacks.put((mid, reason))
        self.paho.on_disconnect = lambda c, u, flags, reason, props: self.disconnects.put((flags, reason, props))
        if will is not None:
            self.paho.will_set(**will)
        start = {"clean_start": clean, "properties": properties("CONNECT", **connect_properties)} if five else {}
        self.paho.connect(broker.host, broker.port, keepalive, **start)
        self.paho.loop_start()
        flags, self.connack, self.connack_properties = connacks.get(timeout=TIMEOUT_S)
        if self.connack.is_failure:
            self.close()
            raise Refused(self.connack)
        self.session_present = flags.session_present

    def subscribe(self, *filters, qos=2, options=None, **props):
        """Subscribes and waits for the answer: the reason code of each filter."""
        if self.version == "5":
            options = options or {"qos": qos}
            request = [(one, SubscribeOptions(**options)) for one in filters]
            _, mid = self.paho.subscribe(request, properties=properties("SUBSCRIBE", **props))
        else:
            _, mid = self.paho.subscribe([(one, qos) for one in filters])
        return [reason.value for reason in self._answer(self.subacks, mid)]

    def unsubscribe(self, *filters):
        """Ends subscriptions and waits for the answer: the reason code of each filter, in version 5."""
        _, mid = self.paho.unsubscribe(list(filters))
        return [reason.value for reason in self._answer(self.unsubacks, mid)]

    def publish(self, topic, payload=b"", qos=1, retain=False, **props):
        """Publishes and waits until the exchange is over: the reason code."""
        return self.await_published(self.send(topic, payload, qos, retain, **props))

    def send(self, topic, payload=b"", qos=1, retain=False, **props):
        """Publishes without waiting; the number to wait for."""
        sent = self.paho.publish(topic, payload, qos, retain, properties=properties("PUBLISH", **props))
        assert sent.rc == paho.MQTT_ERR_SUCCESS, paho.error_string(sent.rc)
        return sent.mid

    def await_published(self, mid):
        """The reason code of a publish."""
        return self._answer(self.pubacks, mid).value

    @staticmethod
    def _answer(answers, mid):
        """The answer to `mid`; answers to others are put back behind it."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            got, value = answers.get(timeout=max(0.001, deadline - time.monotonic()))
            if got == mid:
                return value
            answers.put((got, value))

    def receive(self, timeout=TIMEOUT_S):
        """The next message."""
        return self.messages.get(timeout=timeout)

    def receive_payloads(self, count, timeout=TIMEOUT_S):
        """The payloads of the next `count` messages."""
        return [self.receive(timeout).payload for _ in range(count)]

    def receive_until(self, payload, timeout=TIMEOUT_S):
        """What arrives before the message with this payload, which is dropped. So a test shows what does not arrive."""
        out = []
        while (message := self.receive(timeout)).payload != payload:
            out.append(message)
        return out

    def await_disconnect(self, timeout=TIMEOUT_S):
        """Waits for the connection's end: (reason code, whether the server sent it, properties)."""
        flags, reason, props = self.disconnects.get(timeout=timeout)
        return reason.value, flags.is_disconnect_packet_from_server, props

    def disconnect(self, reason=None, **props):
        """An orderly end."""
        if self.version == "5":
            self.paho.disconnect(reasoncode=reason, properties=properties("DISCONNECT", **props))
        else:
            self.paho.disconnect()
        self.await_disconnect()
        self.paho.loop_stop()

    def vanish(self):
        """The connection breaks: no DISCONNECT is sent."""
        self.paho.socket().shutdown(socket.SHUT_RDWR)
        self.await_disconnect()
        self.paho.loop_stop()

    def close(self):
        """For the end of a test, whatever the state."""
        self.paho.disconnect()
        self.paho.loop_stop()


def let_pass(client, seconds):
    """Lets time pass on the server's own clock: a will with this delay arrives."""
    token = f"clock/{time.monotonic_ns()}"
    watcher = client(version="5")
    watcher.subscribe(token, qos=0)
    will = {"topic": token, "properties": properties("WILLMESSAGE", WillDelayInterval=seconds)}
    clock = client(version="5", client_id=f"c{time.monotonic_ns() % 10**9}", will=will, SessionExpiryInterval=60)
    clock.vanish()
    watcher.receive(timeout=seconds + TIMEOUT_S)
