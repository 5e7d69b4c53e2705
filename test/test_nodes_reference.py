# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The tables of docs/reference/nodes are those of the running nodes."""

import re

import pytest
from node_tables import NAMES, pages, parameter_rows, quality, rows
from ros_graph import own_graph

import robodyn_ros as rd

NODES = {
    "controller": {},
    "commissioner": {},
    "simulator": {},
    "markers": {},
    "viewer": {},
    "planner": {},
    "teleoperator": {},
    "conductor": {"joints": ["elevator"], "times": [0.0, 1.0], "waypoints": [0.0, 1.0], "record": "record.npz"},
}
"""Node → what it must be given."""


def test_every_node_has_a_page():
    assert set(NAMES) == set(NODES)


def test_the_first_ten_parameters_are_parameters():
    first = pages("controller").partition("## The first ten parameters")[2].partition("\n## ")[0]
    names = [name for name, _ in rows(first, 2)]
    assert len(names) == 10
    assert set(names) <= {row[0] for row in rows(pages("controller"), 5)}


@pytest.fixture(scope="module")
def node(request, tmp_path_factory, prr):
    """A node's name, the parameters that it was given with the defaults of these, and the graph in which it runs."""
    name = request.param
    given = NODES[name] or {"robot_description": prr}
    defaults = dict.fromkeys(given, "")
    if name == "viewer":
        given = given | {"use_sim_time": True}
    with own_graph(tmp_path_factory.mktemp(name)) as graph:
        graph.state_rate = graph.diagnostics_rate = 0.0
        graph.frequency = 0.0
        graph.start(name, **given)
        graph.wait(lambda: name in graph.node.get_node_names(), "the node")
        if name == "controller":
            graph.wait(lambda: graph.node.count_publishers("/controller/commands"), "a configured controller")
        yield name, defaults, graph


@pytest.mark.parametrize("node", NODES, indirect=True)
def test_topics_and_services(node):
    name, _, graph = node

    def absolute(topic):
        return topic.replace("~", f"/{name}") if topic.startswith(("~", "/")) else f"/{topic}"

    def found(listing, details):
        """Topic, type and quality of service of the node's own end points."""
        own = [(topic, kinds[0]) for topic, kinds in listing(name, "/")]
        ends = {topic: [end for end in details(topic) if end.node_name == name] for topic, _ in own}
        return {(topic, kind, quality(ends[topic][0].qos_profile)) for topic, kind in own if ends[topic]}

    def listed(direction):
        table = rows(pages(name), 5)
        return {(absolute(topic), kind, qos) for way, topic, kind, qos, _ in table if way == direction}

    of_every_node = {"/rosout", "/parameter_events", f"/{name}/transition_event", "/clock"}
    ways = {
        "sub": (graph.node.get_subscriber_names_and_types_by_node, graph.node.get_subscriptions_info_by_topic),
        "pub": (graph.node.get_publisher_names_and_types_by_node, graph.node.get_publishers_info_by_topic),
    }
    for way, listing in ways.items():
        own = listed(way)
        assert own
        others = of_every_node - {topic for topic, _, _ in own}
        graph.wait(
            lambda own=own, listing=listing, others=others: own == {e for e in found(*listing) if e[0] not in others},
            f"exactly the {way} of the page: {own}",
        )
    services = {(absolute(service), kind) for service, kind, _ in rows(pages(name), 3)}
    own = {(service, kinds[0]) for service, kinds in graph.node.get_service_names_and_types_by_node(name, "/")}
    assert services == {entry for entry in own if entry[1].startswith("std_srvs/")}


@pytest.mark.parametrize("node", NODES, indirect=True)
def test_parameters(node):
    name, given, graph = node
    joints = rd.load_robot("prr").joint_names
    made = parameter_rows(graph, name, joints, given)
    listed = re.findall(r"^\| `[^`]+` \|.* \| (?:start|configure|any time) \|$", pages(name), re.MULTILINE)
    missing, surplus = ("\n".join(sorted(set(one) - set(other))) for one, other in ((made, listed), (listed, made)))
    assert not missing and not surplus, f"{name}*.md lack:\n{missing}\nand have too much:\n{surplus}"
    assert len(listed) == len(made), "a parameter is listed twice"
