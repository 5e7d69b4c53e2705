# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The hardware as a whole: what comes out of it for what goes in, to the last bit."""

import copy
import pickle

import numpy as np
import pytest
from truth import Pinocchio

import robodyn_ros as rd
from robodyn_ros.control.drives import DriveCompensation
from robodyn_ros.errors import ConfigurationError, InputError, RobodynError, SimulationError
from robodyn_ros.simulation.hardware import DriveModel, Hardware
from robodyn_ros.simulation.plant.native import Plant
from robodyn_ros.tasks import make_simulated

ROBOT = rd.load_robot("prr")
START = {"initial_position.elevator": 0.5, "initial_position.shoulder": -0.6, "initial_position.wrist": 0.3}
GRAVITY = (0.0, 0.0, -9.81)
HELD = [20.0 * 9.81, 30.0, 5.0]
ROUGH = {
    "seed": 7,
    "state_delay": 0.003,
    "state_jitter": 0.004,
    "state_drop": 0.1,
    "state_repeat": 0.1,
    "velocity_source": "differentiated",
    "command_delay": 0.0017,
    **{f"sensors.{name}.position_noise": 1e-4 for name in ROBOT.joint_names},
    **{f"sensors.{name}.resolution": 2e-4 for name in ROBOT.joint_names},
    **{f"actuators.{name}.lag": 0.004 for name in ROBOT.joint_names},
    **{f"actuators.{name}.rate_limit": 2e4 for name in ROBOT.joint_names},
    **{f"actuators.{name}.resolution": 0.01 for name in ROBOT.joint_names},
}


def hardware(**given):
    made, unused = make_simulated(given | START, ROBOT)
    assert not unused
    return made


def driven(made, steps=600, by=1, every=4):
    """Readings under commands that depend on them, as those of a controller do."""
    found = made.readings()
    for now in range(0, steps, by):
        if now % every == 0 and found:
            made.command(np.array(HELD) - 20.0 * (found[-1].q - found[0].q) - 3.0 * found[-1].qd)
        made.advance(by)
        found.extend(made.readings())
    return found


def bits(readings):
    return [(step, *(values.tobytes() for values in arrays)) for step, *arrays in readings]


def test_brakes_hold_until_the_first_command():
    made = hardware()
    made.advance(500)
    assert made.drives.held and list(made.plant.q) == list(START.values()) and made.time == 0.5
    made.command(HELD)
    made.advance(100)
    assert not made.drives.held and made.plant.qd.any() and (made.time, made.plant.time) == (0.6, 0.1)
    late = hardware(command_delay=0.0105)
    late.command(HELD)
    late.advance(11)
    assert late.drives.held and list(late.plant.q) == list(START.values())
    late.advance(1)
    assert not late.drives.held and late.plant.qd.any()
    falling = hardware(brake=False, on_command_timeout="brake", command_timeout=0.01)
    falling.advance(100)  # the time without a command begins with the first one
    assert falling.plant.q[0] < 0.5 and not falling.drives.silent and not falling.drives.held


def test_readings_come_at_the_rate_of_the_states_and_are_the_state():
    made = hardware(state_rate=200.0, brake=False)
    found = made.readings()
    for _ in range(100):
        made.advance(1)
        for reading in made.readings():
            assert reading.step == made.now
            assert np.array_equal(reading.q, made.plant.q) and np.array_equal(reading.qd, made.plant.qd)
            found.append(reading)
    assert [reading.step for reading in found] == list(range(0, 101, 5))
    late = [hardware(state_rate=200.0, **given) for given in ({"state_delay": 0.002}, {"state_jitter": 0.002})]
    assert [each.interval for each in (made, *late)] == [5, 1, 1]


@pytest.mark.parametrize("given", [{}, ROUGH], ids=["ideal", "rough"])
def test_the_same_again_to_the_last_bit_in_another_and_after_a_reset(given):
    made = hardware(**given)
    first = driven(made)
    assert len(first) > 200
    lasted = made.plant.time
    assert bits(first) == bits(driven(hardware(**given)))
    made.reset()
    assert made.now == 0 and list(made.plant.q) == list(START.values())
    assert bits(first) == bits(driven(made)) and made.plant.time == lasted


def test_another_seed_is_another_run():
    assert bits(driven(hardware(**ROUGH))) != bits(driven(hardware(**ROUGH | {"seed": 8})))


def test_how_far_it_goes_at_once_does_not_matter():
    ends = []
    for by in (1, 2, 4):
        made = hardware(brake=False)
        driven(made, by=by)
        ends.append(np.concatenate((made.plant.q, made.plant.qd)))
    np.testing.assert_allclose(ends[1:], [ends[0]] * 2, rtol=1e-12)


def test_the_last_command_goes_on_or_the_effort_goes_or_brakes_engage():
    ends = {}
    for answer in ("hold", "zero", "brake"):
        made = hardware(command_timeout=0.05, on_command_timeout=answer)
        made.command(HELD)
        made.advance(49)
        assert not made.drives.silent and made.plant.qd.any() and list(made.plant.effort) == HELD
        made.advance(200)
        assert made.drives.silent and made.drives.held == (answer == "brake")
        ends[answer] = made
    assert list(ends["hold"].plant.effort) == HELD
    assert list(ends["zero"].plant.effort) == [0.0] * 3
    assert not ends["brake"].plant.qd.any()
    q = ends["brake"].plant.q
    ends["brake"].advance(1000)
    assert np.array_equal(ends["brake"].plant.q, q)
    ends["brake"].command(HELD)  # a command releases them
    ends["brake"].advance(10)
    assert ends["brake"].plant.qd.any() and not ends["brake"].drives.silent


@pytest.mark.parametrize("step", [1e-3, 5e-3])
def test_the_least_timeout_is_one_step(step):
    made = hardware(command_timeout=1e-3, on_command_timeout="zero", state_rate=50.0, step=step)
    made.command(HELD)
    made.advance(1)
    assert not made.drives.silent
    made.advance(1)
    assert made.drives.silent


def test_the_timeout_comes_to_the_step_within_a_longer_advance():
    ends = []
    for by in (1, 20):
        made = hardware(command_timeout=0.007, on_command_timeout="zero", state_rate=50.0)
        made.command(HELD)
        for _ in range(0, 20, by):
            made.advance(by)
        assert made.drives.silent and list(made.plant.effort) == [0.0] * 3
        ends.append(np.concatenate((made.plant.q, made.plant.qd)))
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12)


@pytest.mark.parametrize(
    "effort", [[1e300, 0, 0], [0, -1.1e6, 0], [np.nan, 0, 0], [0, -np.inf, 0], [0, 0], [0, 0, 0, 0], "much", None]
)
def test_bad_commands_change_nothing(effort):
    made, other = hardware(), hardware()
    with pytest.raises(InputError):
        made.command(effort)
    assert made.drives.held
    for one in (made, other):
        one.command(HELD)
        one.advance(20)
    with pytest.raises(InputError):
        made.command(effort)
    for one in (made, other):
        one.advance(20)
    assert np.array_equal(made.plant.q, other.plant.q) and np.isfinite(made.plant.q).all()


def test_friction_stops_mismatch_and_plugins_reach_the_plant():
    given = {"friction.wrist.coulomb": 0.5, "stops.shoulder.stiffness": 1e4, "integrator": "implicit_midpoint"}
    made = hardware(**given)
    assert [joint.coulomb for joint in made.plant.friction] == [*ROBOT.friction[:2], 0.5]
    plain, heavy = hardware(), hardware(**{"mismatch.mass_scale": 1.25})
    q = np.array(list(START.values()))
    np.testing.assert_allclose(heavy.plant.dynamics.gravity(q), 1.25 * plain.plant.dynamics.gravity(q), rtol=1e-12)
    spread = [hardware(**{"mismatch.mass_spread": 0.3, "seed": seed}).plant.dynamics.gravity(q) for seed in (1, 1, 2)]
    assert np.array_equal(spread[0], spread[1]) and (spread[0] != spread[2]).any()
    with pytest.raises(ConfigurationError, match="integrator"):
        hardware(integrator="rk5")
    with pytest.raises(ConfigurationError, match="plant"):
        hardware(plant="clay")


def test_the_same_hardware_on_another_plant():
    """What drives and sensors do in MuJoCo is what they do here."""
    ends = []
    for plant in ("native", "mujoco"):
        made = hardware(plant=plant, **{f"actuators.{name}.lag": 0.01 for name in ROBOT.joint_names})
        made.command(HELD)
        made.advance(200)
        ends.append(np.concatenate((made.plant.q, made.plant.qd, made.plant.effort)))
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-4, atol=1e-5)
    with pytest.raises(ConfigurationError, match="has its own"):
        hardware(plant="mujoco", integrator="explicit_euler")


def test_no_effort_exceeds_its_limit_where_the_next_command_of_a_drive_does():
    limit = ROBOT.effort_limit[2]
    made = hardware(**{"actuators.wrist.resolution": limit / 1.7})
    made.command([0.0, 0.0, limit])
    made.advance(2)
    assert made.drives.effort[2] > limit == made.plant.effort[2] == made.readings()[-1].effort[2]


def test_a_brake_stops_an_arm_that_is_deep_in_a_compliant_stop():
    given = {"stops.elevator.stiffness": 5e3, "brake": False, "command_timeout": 0.05, "on_command_timeout": "brake"}
    made = hardware(**given)
    made.command([0.0, 0.0, 0.0])
    made.advance(50)
    made.command([0.0, 0.0, 0.0])
    while made.plant.q[0] >= 0.0:  # falls onto the stop, and into it
        made.command([0.0, 0.0, 0.0])
        made.advance(1)
    made.advance(60)
    q = made.plant.q
    assert made.drives.held and q[0] < 0.0 and not made.plant.qd.any()
    made.advance(100)
    assert np.array_equal(made.plant.q, q)
    made.command(HELD)
    made.advance(1)
    assert made.plant.qd[0] > 0.0  # the stop pushes it out


def test_what_drives_add_by_themselves():
    """Gravity and Coriolis efforts are Pinocchio's; Coulomb friction is smoothed by tanh. Each is of one joint."""
    q, qd, truth = np.array([0.5, -0.6, 0.3]), np.array([0.1, 0.8, -0.01]), Pinocchio(ROBOT, GRAVITY)
    model = rd.create_dynamics("rnea", ROBOT, gravity=GRAVITY, viscous=[4.0, 3.0, 2.0], coulomb=[6.0, 5.0, 4.0])
    gravity = truth.inverse(q, 0.0 * q, 0.0 * q)
    coriolis = truth.inverse(q, qd, 0.0 * q) - gravity
    terms = ["gravity.elevator", "coriolis.shoulder", "friction.wrist"]
    added = DriveModel(model, DriveCompensation.of(ROBOT, terms)).effort(q, qd)
    np.testing.assert_allclose(added, [gravity[0], coriolis[1], -0.02 - 4.0 * np.tanh(1.0)], rtol=1e-9)
    assert abs(coriolis[1]) > 1e-3
    made = hardware(drive_adds=["gravity"])
    made.command([0.0, 0.0, 0.0])
    made.advance(200)
    np.testing.assert_allclose(made.plant.q, list(START.values()), atol=1e-9)  # the drives carry it


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_c_code_works_on_is_not_copied(copied):
    made = hardware()
    for part in (made.plant, made.plant.outside, made.drives, made.sensors):
        with pytest.raises(RobodynError, match=f"^{type(part).__name__} can be neither copied nor pickled"):
            copied(part)


def failing(problem, calls):
    """Hardware whose plant fails in the last of some calls, and then moves on; what was called is in its list."""
    made, seen = hardware(plant="mujoco", brake=False), []
    step = made.plant.step

    def fail(count=1):
        seen.append(made.now)
        if len(seen) == calls:
            raise problem
        step(count)

    made.plant.step = fail
    return made, seen


def test_a_step_that_fails_ends_the_motion_until_a_reset_and_time_goes_on():
    pytest.importorskip("mujoco")
    made, seen = failing(SimulationError("too fast"), 5)
    made.advance(4)
    q = made.plant.q
    made.advance(6)
    assert str(made.failure) == "at 0.005 s: too fast" and (made.failures, made.now, len(seen)) == (1, 10, 5)
    assert np.array_equal(made.plant.q, q) and [reading.step for reading in made.readings()] == [0, 2, 4, 6, 8, 10]
    made.command(HELD)
    made.advance(2)
    assert len(seen) == 5 and made.failures == 1
    made.reset()
    made.advance(1)
    assert made.failure is None and made.now == 1 and len(seen) == 6


def test_what_a_plant_raises_comes_out_and_does_not_end_the_motion():
    pytest.importorskip("mujoco")
    made, seen = failing(KeyboardInterrupt(), 3)
    with pytest.raises(KeyboardInterrupt):
        made.advance(8)
    assert made.failure is None and made.now == 3
    made.advance(1)
    assert len(seen) == 4


def test_what_a_model_in_python_raises_comes_out_and_does_not_end_the_motion():
    class Broken(type(rd.create_dynamics("rnea", ROBOT))):
        is_broken = False

        def forward(self, q, qd, tau):
            return super().forward(q, qd, tau) / (not self.is_broken)

    made, model = hardware(brake=False), Broken(ROBOT)
    made = Hardware(Plant(model, q0=list(START.values())), made.drives, made.sensors, made.states)
    made.advance(3)
    model.is_broken, q = True, made.plant.q
    with pytest.raises(FloatingPointError), np.errstate(divide="raise"):
        made.advance(1)
    assert np.array_equal(made.plant.q, q) and made.plant.time == 0.003 and made.failure is None
    model.is_broken = False
    made.advance(1)
    assert made.plant.q[0] < q[0] and made.plant.time == 0.004 and (made.now, made.failures) == (5, 0)
