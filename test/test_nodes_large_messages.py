# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Large messages, which a thread takes: the same bytes, in order, and at no price for the thread of the executor."""

import threading
import time
from functools import partial
from types import SimpleNamespace

import pytest
import rclpy
from joined_graph import joined
from rclpy.context import Context
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from robodyn_ros.cli.processes import isolated
from robodyn_ros.nodes.common import threads
from robodyn_ros.nodes.common.client_library import RELIABLE, EventsExecutor
from robodyn_ros.nodes.common.diagnostics import UNFORESEEN, ExceptionGuard
from robodyn_ros.nodes.common.executor import announce_often, handle_event
from robodyn_ros.nodes.common.threads import LargeMessages

DEADLINE = 60.0


class Listener(ExceptionGuard, Node):
    """A node that subscribes."""


@pytest.fixture
def there():
    """Two nodes in this process: one talks, one listens."""
    with joined():
        announce_often()
        rclpy.init(args=[])
        executor = EventsExecutor()
        talker, node = Node("talker"), Listener("listener")
        publisher = talker.create_publisher(String, "text", RELIABLE)
        executor.add_node(talker)
        executor.add_node(node)

        def until(condition):
            end = time.monotonic() + DEADLINE
            while not condition():
                assert time.monotonic() < end
                handle_event(executor, node.faults, 0.002)

        yield SimpleNamespace(node=node, publisher=publisher, until=until)
        executor.shutdown()
        node.destroy_node()
        talker.destroy_node()
        rclpy.try_shutdown()


@pytest.mark.parametrize("libraries", ["called", "not found"])
def test_the_same_bytes_come_in_order_and_in_another_thread(there, monkeypatch, libraries):
    if libraries == "not found":
        monkeypatch.setattr(threads, "_libraries", lambda: None)
    got, seen, called = [], set(), []

    def receive(data):
        seen.add(threading.current_thread())
        got.append(bytes(data))
        messages.hand_over(partial(called.append, threading.current_thread()))

    messages = LargeMessages(there.node, String, "text", RELIABLE, receive)
    there.until(there.publisher.get_subscription_count)
    sent = [String(data=f"{k}" * (1 + 100_000 * (k % 3))) for k in range(8)]
    for message in sent:
        there.publisher.publish(message)
        there.until(lambda: len(called) == len(got) > 0 and content(got[-1]) == message.data)  # noqa: B023
    assert [content(data) for data in got] == [message.data for message in sent]
    assert seen.isdisjoint({threading.main_thread()}) and len(seen) == 1
    # What is handed over is called where the executor runs: here, within `until`.
    assert len(called) == len(sent)
    messages.destroy()
    assert not seen.pop().is_alive()
    assert there.node.large_messages == []
    there.until(lambda: there.publisher.get_subscription_count() == 0)
    messages.hand_over(lambda: pytest.fail("it has ended"))
    messages.destroy()
    for _ in range(20):
        there.until(lambda: True)


def content(data):
    return deserialize_message(data, String).data


def test_what_the_thread_raises_is_counted_and_the_next_message_comes(there):
    got = []

    def receive(data):
        got.append(len(data))
        if len(got) == 1:
            raise KeyError("broken")
        messages.hand_over(lambda: 1 / 0)

    messages = LargeMessages(there.node, String, "text", RELIABLE, receive)
    there.until(there.publisher.get_subscription_count)
    for count in (1, 2):
        there.publisher.publish(String(data="x"))
        there.until(lambda: len(got) == count)  # noqa: B023
    there.until(lambda: there.node.faults.counts[UNFORESEEN] == 2)
    there.node.destroy_node()  # ends the thread too
    assert not messages._thread.is_alive()


def test_a_large_message_costs_the_executor_nothing(there):
    """CPU time of this thread for a message of 20 MB: what the executor takes itself, and what a thread does."""

    message = String(data="x" * 20_000_000)

    def price(subscribe):
        got, prices = [], []
        subscription = subscribe(lambda data: got.append(len(data)))
        there.until(there.publisher.get_subscription_count)
        for count in (1, 2, 3):
            there.publisher.publish(message)
            before = time.thread_time()
            there.until(lambda: len(got) == count)  # noqa: B023
            prices.append(time.thread_time() - before)
        return min(prices), subscription

    node = there.node
    itself, subscription = price(lambda call: node.create_subscription(String, "text", call, RELIABLE, raw=True))
    node.destroy_subscription(subscription)
    there.until(lambda: there.publisher.get_subscription_count() == 0)
    beside, _ = price(lambda call: LargeMessages(node, String, "text", RELIABLE, call))
    assert beside < 0.5 * itself, (beside, itself)


def test_a_context_that_is_shut_down_ends_the_thread():
    context = Context()
    with isolated() as environment:
        domain = int(environment["ROS_DOMAIN_ID"])
        rclpy.init(context=context, args=[], domain_id=domain)
        node = Listener("listener", context=context)
        messages = LargeMessages(node, String, "text", RELIABLE, lambda data: None)
        rclpy.shutdown(context=context)
        messages._thread.join(DEADLINE)
        assert not messages._thread.is_alive()
