# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

# make demo          the main job: a PRR arm under three controllers, on real ROS 2 topics (make demo VIEW=1: and in a browser)
# make test          the test suite                 (make test ROS=jazzy: on the Jazzy wheels)
# make test-thorough   180 more random arms, more robots, and the programs and commands of every page
# make test-arm64    the C compiled for arm64 and run by qemu-user (packages gcc- and g++-aarch64-linux-gnu, qemu-user)
# make test-realtime   the controller's tests with its loop in its thread everywhere (REALTIME=off: in Python)
# make lint          ruff and mypy
# make docs          the site of the documentation, into build/docs, and its checks
# make picture       the moving picture of the README, docs/demo.webp (needs Chromium)
# make first-hour    the first hour of a newcomer as tutorial and walk-through say it, in a fresh clone with a fresh home (FIRST_HOUR=--keep)
# make bench         the dynamics engine beside Pinocchio (make bench BENCH=--json)
# make bench-kinematics   forward and inverse kinematics beside Pinocchio (BENCH as there)
# make bench-loop    a period of the control loop from Python and in C, PRR and Panda (BENCH as there)
# make bench-start   a first start, from an empty cache to a loop that is ready, PRR to humanoid (BENCH as there)
# make bench-ros     from joint_states to command, beside a node that only echoes (BENCH as there)
# make bench-sim    rollouts beside SciPy, and the plants step by step (BENCH as there)
# make bench-planning   the methods of the planner on the same problems; random goals (BENCH="--goals 200")
# make bench-tool    the laws of the tool: a circle, singular poses, a wall, a stream with losses (BENCH as there)
# make bench-adaptive   an unknown payload under computed torque and the laws that learn it (BENCH as there)
# make bench-identification   what identification leaves unexplained of arms that Pinocchio has moved (BENCH as there)
# make bench-sweep   10,000 rollouts of a study, one worker and two, and the price of the engine
# make faults-node   a dozen of these faults in the running controller, over DDS
# make faults        motion that no check may stop, and faults that no reaction may worsen, on eight arms (BENCH="--seed 7", or as there)
# make mutants       200 changes of the control loop drawn at random, and which test notices each (MUTANTS="--rooms others")
# make fuzz          spoilt URDFs and arrays, new ones each time (make fuzz FUZZ=200000)
# make fuzz-nodes    the running controller under a storm of messages, parameters, switches and life cycles; an hour
# make soak-loop     the exported loop with sanitizers, and the compiled step beside Python: 1,000 histories
# make soak-life-cycles   1,000 life cycles of the controller: objects, threads, files, memory
# make soak-controller   the controller at 500 Hz for ten minutes: periods, beside a thread that only sleeps; latency, memory
# make soak-hold     a pose held for 60 s by the real nodes, with wrong masses and noise
# make soak-adaptive    the adaptive law for 30 simulated minutes (about four minutes)
# make soak-sweep    a sweep's memory from 1,000 to 100,000 cases, and a Dask cluster whose parts die
# make house         how large the house is, room by room, and the files that a position goes through (BENCH="COMMIT" to compare)
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
  APT := $(wildcard .ci/apt-$(ROS).txt)
  export AMENT_PREFIX_PATH := $(CURDIR)/$(VENV)
endif

# Hundreds of processes import the same modules: they are compiled once.
unexport PYTHONDONTWRITEBYTECODE

PIP := $(VENV)/bin/python -m pip --disable-pip-version-check
INSTALL = $(PIP) install -qq --no-compile --use-pep517 $(addprefix -c ,$(CONSTRAINTS))
BUILD := setup.py package.xml $(wildcard .ci/*.txt)

.PHONY: demo test test-thorough test-arm64 test-realtime lint bench bench-planning bench-adaptive bench-identification bench-kinematics bench-loop bench-start bench-ros bench-sim bench-sweep bench-tool faults faults-node fuzz fuzz-nodes mutants soak-adaptive soak-controller soak-hold soak-life-cycles soak-loop soak-sweep clean docs first-hour house picture

demo: $(VENV)/demo-installed $(if $(VIEW),$(VENV)/viewer-installed)
	@$(VENV)/bin/robodyn demo $(if $(VIEW),--view) $(DEMO)

# Two files of tests a core, each ROS graph in a domain of its own; what needs the whole machine, alone at the end.
test: $(VENV)/test-installed
ifdef TEST
	$(VENV)/bin/python -m pytest $(TEST)
else
	$(VENV)/bin/python -m pytest --workers auto -m "not thorough"
endif

test-thorough: $(VENV)/test-installed
	$(VENV)/bin/python -m pytest --workers auto --share test -m thorough $(TEST)

# Skipped, with the names of the missing packages, where there is no cross compiler or emulator.
test-arm64: $(VENV)/test-installed
	$(VENV)/bin/python -m pytest --workers auto --share test -m thorough test/test_arm64.py

lint: $(VENV)/test-installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# Sphinx has a process for each core; threads of the linear algebra would only wait for each other.
docs: export OPENBLAS_NUM_THREADS = 1
docs: $(VENV)/docs-installed
	$(VENV)/bin/python -m sphinx -q -j auto -E -W --keep-going -b html -d build/doctrees docs build/docs
	ROBODYN_SITE=build/docs $(VENV)/bin/python -m pytest --workers 2 --share test test/test_docs.py

picture: $(VENV)/test-installed
	$(VENV)/bin/python docs/make_picture.py

# With the system's Python, as a newcomer has it: the clone makes its own environment.
first-hour:
	$(PYTHON) docs/first_hour.py $(FIRST_HOUR)

bench: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/dynamics.py $(BENCH)

bench-kinematics: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/kinematics.py $(BENCH)

# By default the controller's loop is in its thread where that can be had.
REALTIME ?= on
test-realtime: $(VENV)/test-installed
	ROBODYN_REALTIME=$(REALTIME) $(VENV)/bin/python -m pytest --workers auto $(addprefix test/test_nodes_,closed_loop.py faults.py recovery.py states.py time.py trajectories.py)

house: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/house.py $(BENCH)

bench-loop: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/loop_update.py $(BENCH)

bench-start: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/first_start.py $(BENCH)

bench-ros: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/ros.py $(BENCH)

SOAK ?= 600
soak-controller: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/ros.py --soak $(SOAK) $(BENCH)

soak-hold: $(VENV)/test-installed
	ROBODYN_HOLD=60 $(VENV)/bin/python -m pytest -s test/test_nodes_hold.py

bench-sim: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/simulation.py $(BENCH)

bench-planning: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/planning.py $(BENCH)

bench-tool: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/tool.py $(BENCH)

bench-adaptive: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/adaptive.py $(BENCH)

bench-identification: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/identification.py $(BENCH)

soak-adaptive: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/adaptive.py --minutes 30 --laws adaptive $(BENCH)

bench-sweep: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/sweep.py $(BENCH)

soak-sweep: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/sweep.py --memory 1000 10000 100000
	@$(VENV)/bin/python benchmarks/sweep.py --cluster 600

faults: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/faults.py $(BENCH)

faults-node: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/node_faults.py $(BENCH)

FUZZ ?= 10000
fuzz: $(VENV)/test-installed
	ROBODYN_FUZZ=$(FUZZ) $(VENV)/bin/python -m pytest test/test_fuzz_urdf.py test/test_fuzz_dynamics.py

mutants: $(VENV)/test-installed
	@nice $(VENV)/bin/python benchmarks/mutants.py $(MUTANTS)

fuzz-nodes: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/fuzz_nodes.py $(BENCH)

soak-loop: $(VENV)/test-installed
	ROBODYN_HISTORIES=1000 $(VENV)/bin/python -m pytest --workers 2 --share test -m thorough test/test_control_export.py test/test_control_step.py

soak-life-cycles: $(VENV)/test-installed
	ROBODYN_LIFE_CYCLES=1000 $(VENV)/bin/python -m pytest -s --timeout 7200 test/test_nodes_life_cycles.py -k leave_nothing

clean:
	rm -rf .venv .venv-* build *.egg-info

$(VENV)/bin/python:
	@echo "Making $(VENV) (once, half a minute) ..."
	@$(PYTHON) -m venv $(VENV_FLAGS) $(VENV)
	@$(PIP) install -qq --upgrade $(addprefix -c ,$(filter .ci/%,$(CONSTRAINTS))) pip

# What a sourced ROS 2 brings stays as it is: its messages are compiled against its NumPy.
.venv-sourced-%/constraints.txt: .venv-sourced-%/bin/python
	@$< -c "import numpy; print('numpy==' + numpy.__version__)" > $@

$(VENV)/demo-installed: $(VENV)/bin/python $(BUILD) $(filter $(VENV)/%,$(CONSTRAINTS))
	@echo "Installing into $(VENV) ..."
	@$(INSTALL) -e ".[$(ROS_EXTRA)plot,symbolic,conformance]"
	@touch $@

$(VENV)/viewer-installed: $(VENV)/demo-installed
	@echo "Installing the viewer into $(VENV) ..."
	@$(INSTALL) -e ".[$(ROS_EXTRA)plot,symbolic,conformance,viewer]"
	@touch $@

# One installation each, for what an earlier one lacks is found out anew every time.
$(VENV)/test-installed: $(VENV)/bin/python $(BUILD) $(filter $(VENV)/%,$(CONSTRAINTS))
	@echo "Installing with what the tests need into $(VENV) ..."
	@$(INSTALL) -e ".[$(ROS_EXTRA)plot,symbolic,test]"
	$(if $(APT),@$(PIP) install -qq --no-compile --no-deps -r $(APT))
	@touch $(VENV)/demo-installed $@

$(VENV)/docs-installed: $(VENV)/bin/python $(BUILD) $(filter $(VENV)/%,$(CONSTRAINTS))
	@echo "Installing with what the tests and the documentation need into $(VENV) ..."
	@$(INSTALL) -e ".[$(ROS_EXTRA)plot,symbolic,test,docs]"
	@touch $(VENV)/demo-installed $(VENV)/test-installed $@
