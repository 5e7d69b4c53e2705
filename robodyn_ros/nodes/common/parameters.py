# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The library's settings → ROS parameters, and back.

A default, a description, a unit and a range are in the library's dataclass, in its fields made by
:func:`robodyn_ros.settings.setting`, and nowhere else: a parameter is declared from the field, and the
dataclass is made again from the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import Field, fields
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import ParameterException, ParameterNotDeclaredException, ParameterUninitializedException
from rclpy.node import Node
from rclpy.parameter import Parameter

from robodyn_ros.errors import ConfigurationError, RobodynError, is_it
from robodyn_ros.settings import ParameterSpec, check_value, of_parameter, parameter_name, parameter_specs

Settings = TypeVar("Settings")


def declare(
    node: Node,
    name: str,
    default: Any,
    description: str,
    *,
    constraints: str = "",
    bounds: tuple[float, float] | None = None,
    read_only: bool = False,
) -> None:
    """Declare a parameter, unless it is declared already; one of an earlier arm is declared anew.

    Args:
        node: the node.
        name: of the parameter.
        default: its value unless given; a ``Parameter.Type`` where there is none.
        description: its meaning, with its unit.
        constraints: in words, if there is no range.
        bounds: least and greatest value of a number, both allowed.
        read_only: True if it is fixed when the node starts.

    Raises:
        ParameterException: the value given has the wrong type or is out of range.
    """
    declared, what = _declarations(node), (default, description, constraints, bounds, read_only)
    declared.stale.discard(name)
    if node.has_parameter(name):
        if declared.made.get(name, what) == what:
            return
        _undeclare(node, name)
    declared.made[name] = what
    if declared.of_arm is not None:
        declared.of_arm.add(name)
    descriptor = ParameterDescriptor(description=description, additional_constraints=constraints, read_only=read_only)
    if isinstance(default, int) and bounds is not None:
        descriptor.integer_range = [IntegerRange(from_value=int(bounds[0]), to_value=int(bounds[1]), step=0)]
    elif bounds is not None:
        descriptor.floating_point_range = [FloatingPointRange(from_value=bounds[0], to_value=bounds[1], step=0.0)]
    if _is_of_floats(default):
        _take_also(node, name, _as_float)
    try:
        node.declare_parameter(name, default, descriptor)
    except ParameterException as problem:
        if declared.kept.pop(name, None) is None:
            raise
        node.get_logger().warning(f"{name}: the value for the previous arm does not fit this one ({problem})")
        del node._parameter_overrides[name]
        node.declare_parameter(name, default, descriptor)


class _Declarations:
    """The declared parameters of a node.

    Attributes:
        made: name → arguments of its declaration.
        of_arm: names of the parameters of an arm; None before the first.
        stale: those of an earlier arm, until they are declared for this one.
        kept: name → value that was set for an earlier arm.
        forms: name → conversion of a value of another accepted form to the parameter's type.
        checked: name → field whose values are refused if it does not allow them: ranges accept NaN.
    """

    def __init__(self) -> None:
        self.made: dict[str, tuple[Any, ...]] = {}
        self.of_arm: set[str] | None = None
        self.stale: set[str] = set()
        self.kept: dict[str, Any] = {}
        self.forms: dict[str, Callable[[Parameter], Parameter]] = {}
        self.checked: dict[str, Field[Any]] = {}


def _declarations(node: Node) -> _Declarations:
    found: _Declarations | None = getattr(node, "_robodyn_declarations", None)
    if found is None:
        found = made = node._robodyn_declarations = _Declarations()
        node.add_pre_set_parameters_callback(lambda changes: [_taken(node, made, one) for one in changes])
        add_check(node, lambda changes: _check_values(changes, made.checked))
    return found


def _taken(node: Node, declared: _Declarations, change: Parameter) -> Parameter:
    """A change in the parameter's own form; rclpy's refusal of an unknown name does not say the name."""
    if not node.has_parameter(change.name):
        raise ParameterNotDeclaredException(f"{change.name!r}{is_it(change.name, declared.made)}")
    return declared.forms.get(change.name, lambda same: same)(change)


def with_name(node: Node, changes: Iterable[Parameter], result: SetParametersResult) -> SetParametersResult:
    """The result of changes; rclpy's refusal of a wrong type does not say the name."""
    declared = _declarations(node)
    taken = (_taken(node, declared, one) for one in changes)
    pairs = ((one.name, node.get_parameter_or(one.name).type_, one.type_) for one in taken)
    wrong = next((pair for pair in pairs if pair[1] not in (pair[2], Parameter.Type.NOT_SET)), None)
    if wrong is not None and result.reason.startswith("Wrong parameter type"):
        name, right, given = wrong[0], *(kind.name.lower().replace("_", " ") for kind in wrong[1:])
        result.reason = f"{name}: must be of type {right}, not {given}"
    return result


def begin_arm(node: Node) -> None:
    """From now on parameters are declared for an arm: a later arm may have other joints, limits and defaults."""
    declared = _declarations(node)
    declared.of_arm = declared.of_arm or set()
    declared.stale = set(declared.of_arm)


def end_arm(node: Node) -> None:
    """The end of the arm's declarations: parameters that only an earlier arm had are undeclared."""
    declared = _declarations(node)
    for name in declared.stale:
        _undeclare(node, name)
    declared.stale = set()


def _undeclare(node: Node, name: str) -> None:
    """Undeclare a parameter; a value that was set is used again at its next declaration."""
    declared = _declarations(node)
    parameter, default = node.get_parameter_or(name), declared.made[name][0]
    same = list(parameter.value) == list(default) if isinstance(default, list | tuple) else parameter.value == default
    if parameter.type_ != Parameter.Type.NOT_SET and not same:
        given = node._parameter_overrides.get(name)
        if given is None or given.value != parameter.value:
            declared.kept[name] = parameter.value
            node._parameter_overrides[name] = parameter
    else:
        node._parameter_overrides.pop(name, None)
    node._descriptors[name].read_only = False  # it is removed, not changed
    node.undeclare_parameter(name)
    declared.forms.pop(name, None)
    declared.made.pop(name)
    if declared.of_arm is not None:
        declared.of_arm.discard(name)


def _take_also(node: Node, name: str, form: Callable[[Parameter], Parameter]) -> None:
    """Accept a value in another form, when the node starts and later."""
    given = node._parameter_overrides.get(name)
    if given is not None:
        node._parameter_overrides[name] = form(given)
    _declarations(node).forms[name] = form


def _is_of_floats(default: Any) -> bool:
    """True if a parameter with this default, or of this type, is a float or an array of floats."""
    if isinstance(default, list | tuple):
        return bool(default) and all(isinstance(value, float) for value in default)
    return isinstance(default, float) or default in (Parameter.Type.DOUBLE, Parameter.Type.DOUBLE_ARRAY)


def _as_float(parameter: Parameter) -> Parameter:
    """An integer or an array of integers as floats: YAML and the command line make integers of 10 and [0, 1]."""
    if parameter.type_ == Parameter.Type.INTEGER:
        return Parameter(parameter.name, Parameter.Type.DOUBLE, float(parameter.value))
    if parameter.type_ == Parameter.Type.INTEGER_ARRAY:
        return Parameter(parameter.name, Parameter.Type.DOUBLE_ARRAY, [float(value) for value in parameter.value])
    return parameter


def _as_switch(parameter: Parameter) -> Parameter:
    """A boolean as the choice on or off: YAML makes booleans of these words."""
    if isinstance(parameter.value, bool):
        return Parameter(parameter.name, Parameter.Type.STRING, "on" if parameter.value else "off")
    return parameter


def declare_settings(node: Node, settings: Any, prefix: str = "", of: str = "", read_only: bool = False) -> None:
    """Declare a parameter for each field of a dataclass of settings.

    Args:
        node: the node.
        settings: the dataclass, or an instance whose values are the defaults.
        prefix: put before the names.
        of: put behind the descriptions.
        read_only: True if they are fixed when the node starts.
    """
    for item, spec in zip(fields(settings), parameter_specs(settings, prefix, of), strict=True):
        _declarations(node).checked[spec.name] = item
        if {"on", "off"} <= set(spec.choices):
            _take_also(node, spec.name, _as_switch)
        declare_spec(node, spec, read_only=read_only)


def declare_spec(node: Node, spec: ParameterSpec, read_only: bool = False) -> None:
    """Declare a parameter with the library's description."""
    default = Parameter.Type.DOUBLE if spec.default is None else spec.default
    bounds = None if isinstance(default, list) else spec.bounds  # ROS 2 has no ranges of arrays
    how: dict[str, Any] = {"constraints": spec.constraints, "bounds": bounds, "read_only": read_only}
    declare(node, spec.name, default, spec.description, **how)


def _check_values(changes: list[Parameter], items: dict[str, Field[Any]]) -> None:
    for parameter in changes:
        if parameter.name in items:
            check_value(parameter.name, items[parameter.name], parameter.value)


def add_check(node: Node, check: Callable[[list[Parameter]], None]) -> None:
    """Refuse the changes of a node's parameters for which a function raises an error of the library."""

    def answer(changes: list[Parameter]) -> SetParametersResult:
        try:
            check(changes)
        except RobodynError as problem:
            return SetParametersResult(successful=False, reason=str(problem))
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(answer)


def unknown_parameters(node: Node) -> list[str]:
    """Names for which a node was given values, and which are no parameters that it has declared."""
    return sorted(set(node._parameter_overrides) - set(node.list_parameters([], 0).names))


def mention_unknown(node: Node) -> None:
    """Warn of values for names that are no parameters of the node: a misspelt name has no effect.

    Args:
        node: which has declared all its parameters.
    """
    declared = list(node.list_parameters([], 0).names)
    said = [f"{name!r}{is_it(name, declared)}" for name in unknown_parameters(node)]
    if said:
        text = f"given, but without effect, because this node has no such parameter: {', '.join(said)}"
        node.get_logger().warning(text)


class NodeParameters:
    """The values of a node's parameters, as they are or as they would be after a change."""

    def __init__(self, node: Node, changes: Iterable[Parameter] = ()) -> None:
        """
        Args:
            node: the node.
            changes: the changed values.
        """
        self._node = node
        self._changes = {parameter.name: parameter.value for parameter in changes}

    def __getitem__(self, name: str) -> Any:
        """The value of a parameter.

        Raises:
            ConfigurationError: it has none.
        """
        if name in self._changes:
            return self._changes[name]
        try:
            return self._node.get_parameter(name).value
        except ParameterUninitializedException as cause:
            text = self._node.describe_parameter(name).description
            raise ConfigurationError(f"parameter {name!r} must be given: {text}") from cause

    def get(self, name: str, otherwise: Any) -> Any:
        """The value of a parameter, or another value if it has none."""
        try:
            return self[name]
        except ConfigurationError:
            return otherwise

    def settings(self, settings: type[Settings], prefix: str = "") -> Settings:
        """A dataclass of settings, from the parameters declared for it.

        Raises:
            ConfigurationError: a value is out of range; the message names its parameter.
        """
        values = {item.name: self[parameter_name(item, prefix)] for item in fields(settings)}  # type: ignore[arg-type]
        try:
            return settings(**values)
        except ConfigurationError as cause:
            raise of_parameter(cause, settings, prefix) from cause
