# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The nodes' interface is what the tables say: topics, services, parameters."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

JOINT_STATE, ARRAY = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"
WRENCH = "geometry_msgs/msg/WrenchStamped"
TRIGGER, SET_BOOL = "std_srvs/srv/Trigger", "std_srvs/srv/SetBool"
STRING, POSE = "std_msgs/msg/String", "geometry_msgs/msg/PoseStamped"
DIAGNOSTICS = ("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
COMMON_PUBLISHED = {"/parameter_events", "/rosout", "/controller/transition_event"}
URDF = Path(__file__).parents[1] / "urdf" / "prr.urdf"
OF_ALL_NODES = ("rcl_interfaces/", "lifecycle_msgs/", "type_description_interfaces/")

TABLES = {
    "controller": {
        "sub": {
            ("/joint_states", JOINT_STATE),
            ("/robot_description", STRING),
            ("/controller/joint_trajectory", "trajectory_msgs/msg/JointTrajectory"),
            ("/controller/reference", JOINT_STATE),
            ("/controller/target_pose", POSE),
            ("/controller/goal_pose", POSE),
            ("/controller/target_joints", JOINT_STATE),
            ("/controller/target_twist", "geometry_msgs/msg/TwistStamped"),
            ("/controller/target_wrench", WRENCH),
            ("/controller/target_stiffness", ARRAY),
            ("/controller/force_torque", WRENCH),
            ("/controller/speed_scaling_input", "std_msgs/msg/Float64"),
        },
        "pub": {
            ("/controller/commands", ARRAY),
            ("/controller/joint_commands", JOINT_STATE),
            ("/controller/mit_commands", ARRAY),
            *((f"/controller/efforts/{term}", JOINT_STATE) for term in ("gravity", "coriolis", "inertia")),
            *((f"/controller/efforts/{term}", JOINT_STATE) for term in ("friction", "feedback", "total")),
            ("/controller/tracking_error", JOINT_STATE),
            ("/controller/external_efforts", JOINT_STATE),
            ("/controller/external_wrench", WRENCH),
            ("/controller/tool_energy", ARRAY),
            ("/controller/estimates", DIAGNOSTICS[1]),
            ("/controller/payload", "geometry_msgs/msg/InertiaStamped"),
            ("/controller/tool_pose", POSE),
            ("/controller/stream_state", "std_msgs/msg/String"),
            DIAGNOSTICS,
        },
        "srv": {
            ("/controller/enable", SET_BOOL),
            *((f"/controller/{name}", TRIGGER) for name in ("hold", "tare", "estimate_payload", "save_estimates")),
        },
    },
    "simulator": {
        "sub": {("/commands", ARRAY), ("/joint_commands", JOINT_STATE), ("/simulator/apply_wrench", WRENCH)},
        "pub": {
            ("/joint_states", JOINT_STATE),
            ("/clock", "rosgraph_msgs/msg/Clock"),
            ("/robot_description", STRING),
            DIAGNOSTICS,
        },
        "srv": {("/simulator/pause", SET_BOOL), ("/simulator/reset", TRIGGER), ("/simulator/step", TRIGGER)},
    },
}


@pytest.fixture(scope="module")
def running(request, tmp_path_factory, prr):
    """A node's name, and the graph in which it runs."""
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    from ros_graph import own_graph

    name = request.param
    with own_graph(tmp_path_factory.mktemp(name)) as graph:
        graph.state_rate = graph.diagnostics_rate = 0.0
        graph.start(name, robot_description=prr)
        topic = {"controller": "/controller/commands", "simulator": "/joint_states"}[name]
        graph.wait(lambda: graph.node.count_publishers(topic), "the node's topics")
        graph.wait(lambda: name in graph.node.get_node_names(), "the node's name")
        yield name, graph


@pytest.fixture
def node(running):
    """The node's name."""
    return running[0]


@pytest.fixture
def graph(running):
    """The graph in which it runs."""
    return running[1]


@pytest.mark.parametrize("running", TABLES, indirect=True)
def test_topics_and_services_are_those_of_the_tables(graph, node):
    def found(listing):
        return {(name, kinds[0]) for name, kinds in listing(node, "/") if name not in COMMON_PUBLISHED}

    table = TABLES[node]

    def same():
        services = found(graph.node.get_service_names_and_types_by_node)
        return (
            found(graph.node.get_subscriber_names_and_types_by_node) == table["sub"]
            and found(graph.node.get_publisher_names_and_types_by_node) == table["pub"]
            and {entry for entry in services if not entry[1].startswith(OF_ALL_NODES)} == table["srv"]
        )

    graph.wait(same, f"the interface of the table, {table}")


@pytest.mark.parametrize("running", ["controller", "simulator"], indirect=True)
def test_quality_of_service(graph, node):
    from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

    def profile(infos):
        graph.wait(lambda: any(info.node_name == node for info in infos()), "the endpoint")
        return next(info.qos_profile for info in infos() if info.node_name == node)

    test = graph.node
    if node == "controller":
        states = profile(lambda: test.get_subscriptions_info_by_topic("/joint_states"))
        assert states.reliability == ReliabilityPolicy.BEST_EFFORT
        description = profile(lambda: test.get_subscriptions_info_by_topic("/robot_description"))
    else:
        states = profile(lambda: test.get_publishers_info_by_topic("/joint_states"))
        assert states.reliability == ReliabilityPolicy.RELIABLE
        description = profile(lambda: test.get_publishers_info_by_topic("/robot_description"))
    assert description.durability == DurabilityPolicy.TRANSIENT_LOCAL


def described(graph, node):
    """Name → descriptor and value of the package's own parameters."""
    from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters

    names = graph.call(ListParameters, f"{node}/list_parameters").result.names
    own = [name for name in names if not name.startswith(("use_sim_time", "qos_overrides", "start_type_description"))]
    descriptors = graph.call(DescribeParameters, f"{node}/describe_parameters", names=own).descriptors
    values = graph.call(GetParameters, f"{node}/get_parameters", names=own).values
    return {name: (d, v) for name, d, v in zip(own, descriptors, values, strict=True)}


@pytest.mark.parametrize("running", TABLES, indirect=True)
def test_every_parameter_is_described_with_unit_and_range(graph, node):
    from rcl_interfaces.msg import ParameterType

    for name, (descriptor, _) in described(graph, node).items():
        assert descriptor.description, f"{name} has no description"
        if descriptor.type == ParameterType.PARAMETER_DOUBLE:
            assert len(descriptor.floating_point_range) == 1, f"{name} has no range"
            assert descriptor.description.endswith("]") or "[" in descriptor.description, f"{name} has no unit"
            bounds = descriptor.floating_point_range[0]
            assert math.isfinite(bounds.from_value)
            assert bounds.from_value < bounds.to_value


@pytest.mark.parametrize("running", TABLES, indirect=True)
def test_defaults_are_those_of_the_library(graph, node):
    from dataclasses import fields

    from rclpy.parameter import parameter_value_to_python

    from robodyn_ros import load_robot
    from robodyn_ros.control.faults.settings import SafetySettings
    from robodyn_ros.nodes.simulator.node import PaceSettings, SimulatorSettings
    from robodyn_ros.settings import parameter_name
    from robodyn_ros.simulation.hardware import default_values

    found = described(graph, node)
    expected = {}
    for settings in {"controller": (SafetySettings,), "simulator": (PaceSettings, SimulatorSettings)}[node]:
        expected |= {parameter_name(item, ""): item.default for item in fields(settings)}
    if node == "simulator":
        defaults = default_values(load_robot(URDF))
        expected |= {name: list(value) if isinstance(value, tuple) else value for name, value in defaults.items()}
    assert expected == {name: parameter_value_to_python(found[name][1]) for name in expected}


@pytest.mark.parametrize("running", ["controller"], indirect=True)
def test_bad_values_are_refused_with_the_reason_and_good_ones_count_at_once(graph, node):
    from sensor_msgs.msg import JointState

    frequency = "gains__shoulder__natural_frequency"
    for change in ({"state_timeout": -1.0}, {frequency: math.nan}, {"effort_limits__wrist": 1e3}, {"gravity": [0.0]}):
        result = graph.set(node, **change)[0]
        assert not result.successful
        assert result.reason
    feedback = graph.listen(JointState, "controller/efforts/feedback", 10)
    publisher = graph.talk(JointState, "joint_states")
    moving = JointState(name=["elevator", "shoulder", "wrist"], position=[0.0] * 3, velocity=[0.0, 0.01, 0.0])

    def damping():
        feedback.clear()
        graph.wait(lambda: publisher.publish(moving) or feedback, "the feedback term")
        return -feedback[0].effort[1] / 0.01

    assert graph.set(node, **{frequency: 10.0})[0].successful
    # Held where it is, the feedback is M22 * 2ζω * velocity error: it grows with ω and nothing else.
    before = damping()
    assert not graph.set(node, **{frequency: -30})[0].successful
    assert graph.set(node, **{frequency: 12})[0].successful  # a whole number, as `ros2 param set` sends it
    graph.wait(lambda: damping() == pytest.approx(1.2 * before, rel=1e-6), "a fifth more damping")
