# make demo          the main job: a PRR arm under three controllers, on real ROS 2 topics (make demo VIEW=1: and in a browser)
# make test          the whole test suite           (make test ROS=jazzy: on the Jazzy wheels)
# make lint          ruff and mypy
# make docs          the site of the documentation, into build/docs, and its checks
# make bench         the dynamics engine beside Pinocchio (make bench BENCH=--json)
# make bench-kinematics   forward and inverse kinematics beside Pinocchio (BENCH as there)
# make bench-ros     from joint_states to command, beside a node that only echoes (BENCH as there)
# make bench-sim    rollouts beside SciPy, and the plants step by step (BENCH as there)
# make fuzz          spoilt URDFs and arrays, new ones each time (make fuzz FUZZ=200000)
# make soak-controller   the controller at 500 Hz for ten minutes: periods, latency, memory
# make soak-sim      the simulator at 1 kHz in real time, then 30 minutes at 10 times real time (3 minutes)
# make clean         removes the environments
#
# In a shell where ROS 2 is sourced (ROS_DISTRO set) that installation's rclpy is used and no ROS wheel is installed.

ROS ?= $(or $(ROS_DISTRO),kilted)
PYTHON ?= python3
comma := ,

ifdef ROS_DISTRO
  VENV := .venv-sourced-$(ROS)
  VENV_FLAGS := --system-site-packages
  ROS_EXTRA :=
  CONSTRAINTS := $(VENV)/constraints.txt
else
  VENV := $(if $(filter kilted,$(ROS)),.venv,.venv-$(ROS))
  ROS_EXTRA := $(if $(filter kilted,$(ROS)),ros$(comma),ros-$(ROS)$(comma))
  CONSTRAINTS := .ci/constraints.txt .ci/constraints-$(ROS).txt
  export AMENT_PREFIX_PATH := $(CURDIR)/$(VENV)
endif

PIP := $(VENV)/bin/python -m pip --disable-pip-version-check
INSTALL = $(PIP) install --quiet --use-pep517 $(addprefix -c ,$(CONSTRAINTS))
BUILD := setup.py package.xml $(wildcard .ci/constraints*.txt)

.PHONY: demo test lint bench bench-kinematics bench-ros bench-sim fuzz soak-controller soak-sim clean docs

demo: $(VENV)/demo-installed $(if $(VIEW),$(VENV)/viewer-installed)
	@$(VENV)/bin/robodyn demo $(if $(VIEW),--view) $(DEMO)

# What starts no node runs on all cores; what does, alone.
test: $(VENV)/test-installed
ifdef TEST
	$(VENV)/bin/python -m pytest $(TEST)
else
	$(VENV)/bin/python -m pytest -n auto --dist loadfile -m "not ros"
	$(VENV)/bin/python -m pytest -m ros
endif

lint: $(VENV)/test-installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

docs: $(VENV)/docs-installed
	$(VENV)/bin/python -m sphinx -q -E -W --keep-going -b html -d build/doctrees docs build/docs
	ROBODYN_SITE=build/docs $(VENV)/bin/python -m pytest test/test_docs.py

bench: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/dynamics.py $(BENCH)

bench-kinematics: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/kinematics.py $(BENCH)

bench-ros: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/ros.py $(BENCH)

SOAK ?= 600
soak-controller: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/ros.py --soak $(SOAK)

bench-sim: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/simulation.py $(BENCH)

FUZZ ?= 10000
fuzz: $(VENV)/test-installed
	ROBODYN_FUZZ=$(FUZZ) $(VENV)/bin/python -m pytest test/test_fuzz_urdf.py test/test_fuzz_dynamics.py

soak-sim: $(VENV)/demo-installed
	$(VENV)/bin/python benchmarks/simulator.py
	$(VENV)/bin/python benchmarks/simulator.py --factor 10 --rate 500 --minutes 30

clean:
	rm -rf .venv .venv-* build *.egg-info

$(VENV)/bin/python:
	@echo "Making $(VENV) (once, about a minute) ..."
	@$(PYTHON) -m venv $(VENV_FLAGS) $(VENV)

# What a sourced ROS 2 brings stays as it is: its messages are compiled against its NumPy.
.venv-sourced-%/constraints.txt: .venv-sourced-%/bin/python
	@$< -c "import numpy; print('numpy==' + numpy.__version__)" > $@

$(VENV)/demo-installed: $(VENV)/bin/python $(BUILD) $(filter $(VENV)/%,$(CONSTRAINTS))
	@echo "Installing into $(VENV) ..."
	@$(INSTALL) -e ".[$(ROS_EXTRA)plot]"
	@touch $@

$(VENV)/viewer-installed: $(VENV)/demo-installed
	@echo "Installing the viewer into $(VENV) ..."
	@$(INSTALL) -e ".[$(ROS_EXTRA)viewer]"
	@touch $@

$(VENV)/test-installed: $(VENV)/demo-installed
	@echo "Installing what the tests need into $(VENV) ..."
	@$(INSTALL) -e ".[$(ROS_EXTRA)plot,test]"
	@touch $@

$(VENV)/docs-installed: $(VENV)/test-installed
	@echo "Installing what the documentation needs into $(VENV) ..."
	@$(INSTALL) -e ".[$(ROS_EXTRA)plot,test,docs]"
	@touch $@
